//! MIME multipart archives, the form in which cloud-init and nodeadm take several documents.
//!
//! Source: <https://cloudinit.readthedocs.io/en/latest/explanation/format/mime-archive.html>; RFC
//! 2046.

use super::bootstrap::UserDataError;

/// Type of shell scripts.
pub(super) const SHELL_SCRIPT: &str = "text/x-shellscript; charset=\"us-ascii\"";
/// Type of nodeadm's documents.
pub(super) const NODE_CONFIG: &str = "application/node.eks.aws";
/// The boundary that Karpenter uses, so that equal user data is equal text.
const BOUNDARY: &str = "//";

/// A part of an archive: headers, an empty line, and the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part(String);

impl Part {
    /// A part of a type.
    pub(super) fn of(content_type: &str, document: &str) -> Self {
        Self(format!("Content-Type: {content_type}\n\n{document}"))
    }
}

/// The parts of an archive, as they stand; `None` for a text that does not begin like one.
pub(super) fn parts(text: &str) -> Result<Option<Vec<Part>>, UserDataError> {
    let head = text.trim_start().get(..13).unwrap_or_default().to_ascii_lowercase();
    if !head.starts_with("mime-version:") && !head.starts_with("content-type:") {
        return Ok(None);
    }
    let text = text.trim_start();
    let archive = mailparse::parse_mail(text.as_bytes())
        .map_err(|error| UserDataError::Mime(error.to_string()))?;
    if !archive.ctype.mimetype.starts_with("multipart/") {
        return Ok(Some(vec![Part(text.trim_end().to_owned())]));
    }
    if archive.subparts.is_empty() {
        return Err(UserDataError::Mime("it has no parts".to_owned()));
    }
    let raw = |part: &mailparse::ParsedMail<'_>| {
        let text = String::from_utf8_lossy(part.raw_bytes);
        Part(text.trim_end_matches(['\r', '\n']).to_owned())
    };
    Ok(Some(archive.subparts.iter().map(raw).collect()))
}

/// An archive of the parts, in their order.
pub(super) fn archive(parts: &[Part]) -> String {
    let boundary = boundary(parts);
    let part = |Part(part): &Part| format!("--{boundary}\n{part}\n");
    let parts = parts.iter().map(part).collect::<Vec<_>>().concat();
    format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"{boundary}\"\n\n\
         {parts}--{boundary}--\n"
    )
}

/// A boundary that no part contains.
fn boundary(parts: &[Part]) -> String {
    let mut boundary = BOUNDARY.to_owned();
    while parts
        .iter()
        .any(|Part(part)| part.lines().any(|line| line.starts_with(&format!("--{boundary}"))))
    {
        boundary.push('/');
    }
    boundary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_taken_apart_as_it_was_put_together() {
        let made =
            [Part::of(SHELL_SCRIPT, "#!/bin/bash\necho 1\n\necho 2"), Part::of(NODE_CONFIG, "{}")];
        let text = archive(&made);
        assert!(text.starts_with(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\n"
        ));
        assert!(text.ends_with("\n--//--\n"));
        assert_eq!(parts(&text).unwrap().unwrap(), made);
    }

    #[test]
    fn windows_line_ends_and_other_boundaries_are_read() {
        let text = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"==B==\"\r\n\r\n\
                    --==B==\r\nContent-Type: text/x-shellscript\r\n\r\n#!/bin/sh\r\ntrue\r\n--==B==--\r\n";
        let read = parts(text).unwrap().unwrap();
        assert_eq!(
            read,
            [Part("Content-Type: text/x-shellscript\r\n\r\n#!/bin/sh\r\ntrue".to_owned())]
        );
    }

    #[test]
    fn a_script_is_no_archive_and_a_broken_archive_is_told() {
        assert_eq!(parts("#!/bin/bash\necho MIME-Version: 1.0"), Ok(None));
        let broken = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"x\"\n\nno parts";
        assert!(matches!(parts(broken), Err(UserDataError::Mime(_))));
    }

    #[test]
    fn the_boundary_is_one_that_no_part_contains() {
        let sly = Part::of(SHELL_SCRIPT, "cat <<EOF\n--//\nEOF");
        let text = archive(std::slice::from_ref(&sly));
        assert!(text.contains("boundary=\"///\""), "{text}");
        assert_eq!(parts(&text).unwrap().unwrap(), [sly]);
    }
}
