//! Amazon Linux 2: the user's parts first, then `bootstrap.sh` of the EKS images.
//!
//! Source: <https://github.com/awslabs/amazon-eks-ami> (`templates/al2/runtime/bootstrap.sh`).

use super::bootstrap::{Bootstrap, UserDataError};
use super::kubelet;
use super::mime::{self, Part, SHELL_SCRIPT};
use aws::cluster::IpFamily;

pub(super) fn user_data(bootstrap: &Bootstrap<'_>) -> Result<String, UserDataError> {
    let mut parts = match bootstrap.spec.user_data.as_deref() {
        None => Vec::new(),
        Some(own) => {
            mime::parts(own)?.unwrap_or_else(|| vec![Part::of(SHELL_SCRIPT, own.trim_end())])
        }
    };
    parts.push(Part::of(SHELL_SCRIPT, &script(bootstrap)));
    Ok(mime::archive(&parts))
}

fn script(bootstrap: &Bootstrap<'_>) -> String {
    let cluster = bootstrap.cluster;
    let mut arguments = vec![
        format!("--apiserver-endpoint '{}'", cluster.endpoint),
        format!("--b64-cluster-ca '{}'", cluster.certificate_authority),
    ];
    if cluster.ip_family == IpFamily::Ipv6 {
        arguments.push("--ip-family ipv6".to_owned());
        if let Some(cidr) = &cluster.service_cidr {
            arguments.push(format!("--service-ipv6-cidr '{cidr}'"));
        }
    }
    if let Some(dns) = bootstrap.cluster_dns().first() {
        arguments.push(format!("--dns-cluster-ip '{dns}'"));
    }
    arguments.push("--use-max-pods false".to_owned());
    arguments.push(format!("--kubelet-extra-args '{}'", kubelet::flags(bootstrap).join(" ")));
    if bootstrap.spec.instance_store_raid0 {
        arguments.push("--local-disks raid0".to_owned());
    }
    // The log and the console show how far a node came that never joined.
    format!(
        "#!/bin/bash -xe\n\
         exec > >(tee /var/log/user-data.log | logger -t user-data -s 2>/dev/console) 2>&1\n\
         /etc/eks/bootstrap.sh '{}' {}",
        cluster.name,
        arguments.join(" \\\n  ")
    )
}

#[cfg(test)]
mod tests {
    use super::super::testkit::Node;
    use super::*;
    use domain::node_class::AmiFamily;

    #[test]
    fn a_node_is_bootstrapped_by_the_script_of_its_image() {
        let mut node = Node::of(AmiFamily::Al2);
        node.spec.instance_store_raid0 = true;
        node.spec.user_data = Some("#!/bin/bash\necho hello\n".into());
        let expected = r#"MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: text/x-shellscript; charset="us-ascii"

#!/bin/bash
echo hello
--//
Content-Type: text/x-shellscript; charset="us-ascii"

#!/bin/bash -xe
exec > >(tee /var/log/user-data.log | logger -t user-data -s 2>/dev/console) 2>&1
/etc/eks/bootstrap.sh 'prod' --apiserver-endpoint 'https://ABC.gr7.eu-west-1.eks.amazonaws.com' \
  --b64-cluster-ca 'Q0E=' \
  --dns-cluster-ip '10.100.0.10' \
  --use-max-pods false \
  --kubelet-extra-args '--node-labels="karpenter.sh/nodepool=default" --register-with-taints="team=blue:NoSchedule" --max-pods=29 --kube-reserved="cpu=70m,memory=574Mi"' \
  --local-disks raid0
--//--
"#;
        assert_eq!(user_data(&node.bootstrap()).unwrap(), expected);
    }

    #[test]
    fn parts_of_a_users_archive_come_first() {
        let mut node = Node::of(AmiFamily::Al2);
        let own = mime::archive(&[Part::of("text/cloud-config", "runcmd: []")]);
        node.spec.user_data = Some(own.into());
        let parts = mime::parts(&user_data(&node.bootstrap()).unwrap()).unwrap().unwrap();
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0], Part::of("text/cloud-config", "runcmd: []"));
    }
}
