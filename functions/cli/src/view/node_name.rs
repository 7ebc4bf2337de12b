//! Names of nodes where room is scarce.

/// The host part of a name that EC2's DNS gave; any other name as it is.
pub(crate) fn short(name: &str) -> &str {
    let is_private = name.ends_with(".compute.internal") || name.ends_with(".ec2.internal");
    match name.split_once('.') {
        Some((host, _)) if is_private => host,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_ec2s_dns_are_shortened_to_their_host() {
        assert_eq!(short("ip-10-0-0-7.us-east-1.compute.internal"), "ip-10-0-0-7");
        assert_eq!(short("ip-10-0-0-7.ec2.internal"), "ip-10-0-0-7");
        assert_eq!(short("node.example.com"), "node.example.com");
    }
}
