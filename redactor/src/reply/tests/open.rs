//! Values of which no end is in sight.

use crate::Label;
use crate::testing::{LENA, Session};

const PROSE: &str = "and nothing of what stands here is a secret at all, it is what a model says; ";

#[test]
fn what_stands_behind_a_token_is_no_value_however_long_it_is() {
    let mut session = Session::new();
    let token = session.learn(Label::API_KEY, "zX81kk29QpLm44RtAA");
    for quote in ["\"", "'", "=\""] {
        let prose = PROSE.repeat(9);
        let text = format!("it is {token}{quote}{prose}");
        let wanted = format!("it is zX81kk29QpLm44RtAA{quote}{prose}");
        assert_eq!(session.text(&text, &[]), wanted, "{quote}");
    }
}

#[test]
fn tokens_in_an_allowed_value_without_end_come_back() {
    let mut session = Session::with("[labels.PASSWORD]\nreply = 'allow'");
    let token = session.learn(Label::EMAIL, LENA);
    let text = |mail: &str| format!("password: \"{}", format!("hunter2@{mail}@").repeat(40));
    assert_eq!(session.text(&text(&token), &[]), text(LENA));
}

#[test]
fn tokens_in_a_masked_value_come_back_beside_its_masks() {
    let mut session = Session::new();
    let token = session.learn(Label::EMAIL, LENA);
    for times in [3, 22, 40] {
        let text = |value: &str, mail: &str| {
            format!("password: \"{}\"", format!("{value}{mail}").repeat(times))
        };
        let shown = session.text(&text("@hunter2x@", &token), &["hunter"]);
        assert_eq!(shown, text("<PASSWORD>", LENA));
    }
}
