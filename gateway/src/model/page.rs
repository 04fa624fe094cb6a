//! A page of a package index, and addresses.

use data_encoding::BASE64;
use serde_json::Value;

/// The link to the file with this SHA-256.
pub(super) fn link(page: &str, digest: &str) -> Option<String> {
    match serde_json::from_str::<Value>(page) {
        Ok(json) => json
            .get("files")?
            .as_array()?
            .iter()
            .find(|file| file.pointer("/hashes/sha256").and_then(Value::as_str) == Some(digest))
            .and_then(|file| Some(file.get("url")?.as_str()?.to_owned())),
        Err(_) => in_html(page, digest),
    }
}

/// PEP 503: `<a href="…/name.whl#sha256=…">`.
fn in_html(page: &str, digest: &str) -> Option<String> {
    let at = page.find(&format!("#sha256={digest}"))?;
    let before = page.get(..at)?;
    let quote = before.rfind(['"', '\''])?;
    let is_link = before.get(..quote)?.trim_end().ends_with('=');
    let link = before.get(quote + 1..)?.replace("&amp;", "&");
    is_link.then_some(link)
}

/// Where a link on the page at `base` points. Only `http` and `https` are followed.
pub(super) fn resolved(base: &str, link: &str) -> Option<String> {
    let link = link.split('#').next().unwrap_or_default();
    if link.starts_with("https://") || link.starts_with("http://") {
        return Some(link.to_owned());
    }
    if link.contains("://") {
        return None;
    }
    let origin = origin(base)?;
    if let Some(rest) = link.strip_prefix("//") {
        let scheme = origin.split("//").next()?;
        return Some(format!("{scheme}//{rest}"));
    }
    if link.starts_with('/') {
        return Some(format!("{origin}{link}"));
    }
    let path = base.get(origin.len()..)?.split(['?', '#']).next()?;
    let mut parts: Vec<&str> = path.split('/').skip(1).collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Some(format!("{origin}/{}", parts.join("/")))
}

/// Scheme and authority.
pub(super) fn origin(address: &str) -> Option<&str> {
    let start = address.find("://")? + 3;
    let rest = address.get(start..)?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    address.get(..start + end)
}

/// The address without `user:password@`, and what they are as a value of `authorization`.
pub(super) fn without_credentials(address: &str) -> (String, Option<String>) {
    let whole = || (address.to_owned(), None);
    let Some(origin) = origin(address) else {
        return whole();
    };
    let Some((scheme, authority)) = origin.split_once("://") else {
        return whole();
    };
    let Some((user, host)) = authority.rsplit_once('@') else {
        return whole();
    };
    let rest = address.get(origin.len()..).unwrap_or_default();
    let basic = BASE64.encode(&unescaped(user));
    (
        format!("{scheme}://{host}{rest}"),
        Some(format!("Basic {basic}")),
    )
}

/// Percent escapes opened, as user names in addresses are written.
fn unescaped(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *byte == b'%');
        let value =
            digits.and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        out.push(value.unwrap_or(*byte));
        rest = after
            .get(if value.is_some() { 2 } else { 0 }..)
            .unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_chosen_by_its_digest_in_both_forms() {
        let json = r#"{"files":[{"url":"https://x.example/a.whl","hashes":{"sha256":"aa"}},
            {"url":"../../b.whl","hashes":{"sha256":"bb"}}]}"#;
        assert_eq!(link(json, "bb").as_deref(), Some("../../b.whl"));
        assert_eq!(link(json, "cc"), None);
        let html = r#"<a href="a.whl#sha256=aa">a</a><a
            href = "b.whl?x=1&amp;y=2#sha256=bb">b</a>"#;
        assert_eq!(link(html, "bb").as_deref(), Some("b.whl?x=1&y=2"));
        assert_eq!(link(html, "cc"), None);
        assert_eq!(link("#sha256=bb", "bb"), None);
    }

    #[test]
    fn links_lead_where_a_browser_would_go() {
        let base = "https://x.example/simple/name/";
        for (link, target) in [
            ("b.whl", "https://x.example/simple/name/b.whl"),
            ("../../p/b.whl#sha256=1", "https://x.example/p/b.whl"),
            ("/p/b.whl", "https://x.example/p/b.whl"),
            ("//y.example/b.whl", "https://y.example/b.whl"),
            ("http://z.example/b", "http://z.example/b"),
        ] {
            assert_eq!(resolved(base, link).as_deref(), Some(target));
        }
        assert_eq!(resolved(base, "file:///etc/passwd"), None);
    }

    #[test]
    fn a_password_leaves_the_address_and_goes_to_a_header() {
        let (address, credentials) = without_credentials("https://me:p%40ss@x.example/simple");
        assert_eq!(address, "https://x.example/simple");
        assert_eq!(credentials.as_deref(), Some("Basic bWU6cEBzcw=="));
        let (address, credentials) = without_credentials("https://x.example/a@b");
        assert_eq!(
            (address.as_str(), credentials),
            ("https://x.example/a@b", None)
        );
    }
}
