//! Finds the gateway's pseudonyms, `<LABEL_xxxxxx>`, in a text: the shape only, as any provider
//! would see it.

/// A pseudonym as it stands in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// With its angle brackets.
    pub(super) text: String,
    /// Such as `EMAIL` or `CREDIT_CARD`.
    pub(super) label: String,
}

/// The tokens of `first`, then those of `rest`, each once.
pub(super) fn in_order(first: &str, rest: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    for token in find(first).chain(find(rest)) {
        if !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    tokens
}

fn find(text: &str) -> impl Iterator<Item = Token> {
    text.split('<').skip(1).filter_map(|after| {
        let (inside, _) = after.split_once('>')?;
        let (label, digest) = inside.rsplit_once('_')?;
        let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let fits = label.starts_with(|c: char| c.is_ascii_uppercase())
            && label.chars().all(upper)
            && digest.len() >= 5
            && digest.chars().all(lower);
        fits.then(|| Token {
            text: format!("<{inside}>"),
            label: label.to_owned(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_tokens_and_no_look_alikes() {
        let text = "a <EMAIL_k7q2mz> b <CREDIT_CARD_abcdef>, <b>, <EMAIL_>, < EMAIL_k7q2mz>, x<y";
        let found: Vec<String> = find(text).map(|token| token.label).collect();
        assert_eq!(found, ["EMAIL", "CREDIT_CARD"]);
    }

    #[test]
    fn the_first_text_comes_first_and_each_token_once() {
        let tokens = in_order("<PHONE_bbbbbb>", "<EMAIL_aaaaaa> <PHONE_bbbbbb>");
        let texts: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(texts, ["<PHONE_bbbbbb>", "<EMAIL_aaaaaa>"]);
    }
}
