//! Parts that no text search can read: let through only by policy, and only if they are what
//! they say.

use data_encoding::BASE64;

use super::receipt::MediaFault;
use crate::policy::Policy;

/// How the bytes of a type start: at an offset, one of these.
type Magic = (&'static str, usize, &'static [&'static [u8]]);

const MAGIC: &[Magic] = &[
    ("application/pdf", 0, &[b"%PDF-"]),
    ("audio/flac", 0, &[b"fLaC"]),
    (
        "audio/mp3",
        0,
        &[b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"],
    ),
    (
        "audio/mpeg",
        0,
        &[b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"],
    ),
    ("audio/ogg", 0, &[b"OggS"]),
    ("audio/wav", 8, &[b"WAVE"]),
    ("audio/x-wav", 8, &[b"WAVE"]),
    ("image/gif", 0, &[b"GIF87a", b"GIF89a"]),
    ("image/jpeg", 0, &[b"\xff\xd8\xff"]),
    ("image/jpg", 0, &[b"\xff\xd8\xff"]),
    ("image/png", 0, &[b"\x89PNG\r\n\x1a\n"]),
    ("image/webp", 8, &[b"WEBP"]),
];

/// The types that can pass.
pub(crate) fn media_types() -> impl Iterator<Item = &'static str> {
    MAGIC.iter().map(|(name, ..)| *name)
}

/// The type that a `data:` URL declares for base64, in lower case and without parameters.
#[must_use]
pub fn data_url_type(url: &str) -> Option<String> {
    let (head, _) = split(url)?;
    Some(
        head.split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase(),
    )
}

/// Whether `text`, base64 or a `data:` URL with base64, may pass unread as `mime`.
///
/// # Errors
/// If the policy does not allow the type, or the bytes are not strictly that.
pub fn verify_media(text: &str, mime: &str, policy: &Policy) -> Result<(), MediaFault> {
    let mime = mime
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if !policy.media_allowed(&mime) {
        return Err(MediaFault::NotAllowed);
    }
    let payload = match split(text) {
        Some((head, payload)) => {
            // Parameters are free text; none is needed beside `;base64`.
            if !head.eq_ignore_ascii_case(&mime) {
                return Err(MediaFault::OtherType);
            }
            payload
        }
        None => text,
    };
    let bytes = BASE64
        .decode(payload.as_bytes())
        .map_err(|_| MediaFault::NotBase64)?;
    let matches = MAGIC
        .iter()
        .filter(|(name, ..)| *name == mime)
        .any(|(_, at, starts)| {
            let bytes = bytes.get(*at..).unwrap_or_default();
            starts.iter().any(|start| bytes.starts_with(start))
        });
    if matches {
        Ok(())
    } else {
        Err(MediaFault::OtherType)
    }
}

/// The type as it may stand in an error: spelled as a type, or `*`.
pub(super) fn shown(mime: &str) -> String {
    let spelled = mime.len() <= 64
        && mime.contains('/')
        && mime
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b"/.+-".contains(&b));
    if spelled {
        mime.to_owned()
    } else {
        "*".to_owned()
    }
}

/// What stands between `data:` and `;base64,`, and behind it.
fn split(url: &str) -> Option<(&str, &str)> {
    let rest = url
        .get(..5)
        .filter(|head| head.eq_ignore_ascii_case("data:"))
        .and(url.get(5..))?;
    let (head, payload) = rest.split_once(',')?;
    let cut = head.len().checked_sub(";base64".len())?;
    let marker = head.get(cut..)?.eq_ignore_ascii_case(";base64");
    marker.then_some((head.get(..cut)?, payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(allow: &str) -> Policy {
        let mut policy = Policy::default();
        policy.media.allow.push(allow.to_owned());
        policy
    }

    #[test]
    fn only_what_it_says_passes() {
        let png = BASE64.encode(b"\x89PNG\r\n\x1a\nrests");
        let url = format!("data:image/png;base64,{png}");
        let images = policy("image/*");
        assert_eq!(verify_media(&url, "image/png", &images), Ok(()));
        assert_eq!(verify_media(&png, "image/png", &images), Ok(()));
        assert_eq!(
            verify_media(&url, "image/png", &Policy::default()),
            Err(MediaFault::NotAllowed)
        );
        assert_eq!(
            verify_media(&url, "image/jpeg", &images),
            Err(MediaFault::OtherType)
        );
        assert_eq!(
            verify_media(&png, "image/jpeg", &images),
            Err(MediaFault::OtherType)
        );
        assert_eq!(
            verify_media(&png, "image/svg+xml", &images),
            Err(MediaFault::OtherType)
        );
        for broken in [
            format!("{png}\n"),
            png.replace('=', ""),
            png.replacen('i', "-", 1),
            "lena".into(),
        ] {
            assert!(
                verify_media(&broken, "image/png", &images).is_err(),
                "{broken}"
            );
        }
        let named = format!("data:image/png;name=lena;base64,{png}");
        assert_eq!(
            verify_media(&named, "image/png", &images),
            Err(MediaFault::OtherType)
        );
    }

    #[test]
    fn data_urls_name_their_type() {
        assert_eq!(
            data_url_type("DATA:Image/PNG;BASE64,AAAA").as_deref(),
            Some("image/png")
        );
        assert_eq!(data_url_type("data:text/plain,hello"), None);
        assert_eq!(data_url_type("https://x.example/a.png"), None);
        assert_eq!(data_url_type("data"), None);
    }
}
