//! Windows: a PowerShell script that ends in the bootstrap script of the EKS images.
//!
//! Source: <https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-windows-ami.html>.

use super::bootstrap::Bootstrap;
use super::kubelet;

const OPEN: &str = "<powershell>";
const CLOSE: &str = "</powershell>";

pub(super) fn user_data(bootstrap: &Bootstrap<'_>) -> String {
    let mut lines = vec![OPEN.to_owned()];
    if let Some(own) = bootstrap.spec.user_data.as_deref() {
        lines.push(script_of(own).to_owned());
    }
    lines.push(
        "[string]$EKSBootstrapScriptFile = \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\""
            .to_owned(),
    );
    lines.push(bootstrap_command(bootstrap));
    lines.push(CLOSE.to_owned());
    lines.join("\n")
}

/// The user's script, out of its tags where it has them: EC2 runs one script.
fn script_of(own: &str) -> &str {
    let own = own.trim();
    own.strip_prefix(OPEN).and_then(|own| own.strip_suffix(CLOSE)).unwrap_or(own).trim()
}

fn bootstrap_command(bootstrap: &Bootstrap<'_>) -> String {
    let cluster = bootstrap.cluster;
    let command = format!(
        "& $EKSBootstrapScriptFile -EKSClusterName '{}' -APIServerEndpoint '{}' -Base64ClusterCA '{}' \
         -KubeletExtraArgs '{}'",
        cluster.name,
        cluster.endpoint,
        cluster.certificate_authority,
        kubelet::flags(bootstrap).join(" ")
    );
    match bootstrap.cluster_dns().first() {
        Some(dns) => format!("{command} -DNSClusterIP '{dns}'"),
        None => command,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testkit::Node;
    use super::*;
    use domain::node_class::AmiFamily;

    const EXPECTED: &str = r#"<powershell>
Write-Host 'hello'
[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"
& $EKSBootstrapScriptFile -EKSClusterName 'prod' -APIServerEndpoint 'https://ABC.gr7.eu-west-1.eks.amazonaws.com' -Base64ClusterCA 'Q0E=' -KubeletExtraArgs '--node-labels="karpenter.sh/nodepool=default" --register-with-taints="team=blue:NoSchedule" --max-pods=29 --kube-reserved="cpu=70m,memory=574Mi"' -DNSClusterIP '10.100.0.10'
</powershell>"#;

    #[test]
    fn the_users_script_runs_first_with_or_without_tags() {
        for own in ["Write-Host 'hello'\n", "<powershell>\nWrite-Host 'hello'\n</powershell>\n"] {
            let mut node = Node::of(AmiFamily::Windows2022);
            node.spec.user_data = Some(own.into());
            assert_eq!(user_data(&node.bootstrap()), EXPECTED);
        }
    }
}
