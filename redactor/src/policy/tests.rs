use super::*;

fn parse(text: &str) -> Result<Policy, toml::de::Error> {
    toml::from_str(text)
}

#[test]
fn balanced_hides_identifiers_and_leaves_places() {
    let policy = Policy::default();
    for direction in [Direction::Prompt, Direction::System, Direction::ToolOutput] {
        assert_eq!(policy.action(Label::EMAIL, direction), Action::Pseudonymize);
        assert_eq!(
            policy.action(Label::API_KEY, direction),
            Action::Pseudonymize
        );
        assert_eq!(policy.action(Label::LOCATION, direction), Action::Allow);
    }
    assert_eq!(policy.action(Label::EMAIL, Direction::Reply), Action::Mask);
    assert_eq!(
        policy.action(Label::PERSON, Direction::Reply),
        Action::Allow
    );
}

#[test]
fn a_label_table_overrides_its_profile_and_only_there() {
    let policy = parse(
        "profile = \"secrets-only\"\n[labels.EMAIL]\ndefault = \"mask\"\nreply = \"block\"\n",
    )
    .unwrap();
    assert_eq!(policy.action(Label::EMAIL, Direction::Prompt), Action::Mask);
    assert_eq!(policy.action(Label::EMAIL, Direction::Reply), Action::Block);
    assert_eq!(
        policy.action(Label::PHONE, Direction::Prompt),
        Action::Allow
    );
    assert_eq!(
        policy.action(Label::PASSWORD, Direction::Prompt),
        Action::Pseudonymize
    );
}

#[test]
fn secrets_are_not_put_into_tool_arguments_unless_the_tool_is_named() {
    let policy = parse("[restore.tools.deploy]\nonly = [\"API_KEY\"]\n").unwrap();
    let tool = |name: &str| Destination::ToolArguments(name.to_owned());
    assert!(policy.restores(Label::API_KEY, &Destination::ReplyText));
    assert!(policy.restores(Label::EMAIL, &tool("send")));
    assert!(!policy.restores(Label::API_KEY, &tool("send")));
    assert!(policy.restores(Label::API_KEY, &tool("deploy")));
    assert!(!policy.restores(Label::EMAIL, &tool("deploy")));
}

#[test]
fn unknown_keys_are_refused_at_every_depth() {
    for text in [
        "profil = \"strict\"",
        "[labels.EMAIL]\nprompts = \"mask\"",
        "[labels.email]\nprompt = \"mask\"",
        "[[dictionary]]\nlabel = \"PERSON\"\nterms = []\nfuzzy = true",
        "[[rule]]\nname = \"x\"\nlabel = \"X\"\npattern = \"x\"\nflags = \"i\"",
        "[restore]\ntext = \"some\"",
        "[media]\nallowed = []",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn media_types_are_matched_without_parameters() {
    let policy = parse("[media]\nallow = [\"image/*\", \"application/pdf\"]").unwrap();
    assert!(policy.media_allowed("image/png"));
    assert!(policy.media_allowed("Application/PDF; name=x"));
    assert!(!policy.media_allowed("imagery/png"));
    assert!(!Policy::default().media_allowed("image/png"));
}

#[test]
fn canonical_text_tells_policies_apart() {
    let one = parse("ignore = [\"a\", \"b\"]").unwrap();
    let two = parse("ignore = [\"a\\nignore 1:b\"]").unwrap();
    assert_ne!(one.canonical(), two.canonical());
    assert_eq!(one.canonical(), one.clone().canonical());
}

/// The example says what the default does, and everything it shows in comments is understood.
#[test]
fn the_example_file_is_the_default_and_its_comments_hold() {
    let example = include_str!("../../../policies/redaction.toml");
    let policy = parse(example).unwrap();
    assert!(policy == Policy::default());

    let shown: String = example
        .lines()
        .map(|line| line.strip_prefix("# ").unwrap_or(line))
        .filter(|line| {
            let name = line.split(" = ").next().unwrap_or_default();
            let named = line.contains(" = ") && !name.contains([' ', '`']);
            line.starts_with('[') || named
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let shown = parse(&shown).unwrap();
    assert!(!shown.dictionaries.is_empty() && !shown.rules.is_empty() && !shown.labels.is_empty());
    assert!(crate::Engine::new(&shown).is_ok());
}
