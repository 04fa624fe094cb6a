//! Text that comes from a log, made safe for a page or a table.

use std::fmt::Write as _;

/// Shows what does not show itself: control characters, and those that change the direction or hide.
pub(super) fn visible(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) {
            let _ = write!(out, "{}", c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Text for HTML, between tags or in a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_through() {
        assert_eq!(
            escape("<a href=\"x\" b='&'>\u{202e}\n"),
            "&lt;a href=&quot;x&quot; b=&#39;&amp;&#39;&gt;\\u{202e}\\n"
        );
        assert_eq!(escape("Zoë ✓"), "Zoë ✓");
    }
}
