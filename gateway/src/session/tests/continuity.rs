//! Conversations whose callers send no id.

use proptest::prelude::*;

use super::*;
use crate::audit::Event;

fn said(by_model: bool, text: &str) -> Message {
    let digest = gatehouse_envelope::digest::sha256(&[text.as_bytes()]);
    Message { by_model, digest }
}

fn user(text: &str) -> Message {
    said(false, text)
}

fn model(text: &str) -> Message {
    said(true, text)
}

fn talk(messages: &[Message]) -> Conversation {
    Conversation {
        user: [0; 32],
        system: [0; 32],
        messages: messages.to_vec(),
    }
}

/// Nothing is held by any session.
fn no_values(_: &[u8]) -> Evidence {
    Evidence::Empty
}

async fn resume(house: &House, who: &Caller, messages: &[Message]) -> Turn {
    let said = talk(messages);
    house.sessions.resume(who, said, &no_values).await.unwrap()
}

/// One exchange: the reply is `reply`. Gives the session's reference and how it was found.
async fn exchange(
    house: &House,
    who: &Caller,
    messages: &[Message],
    reply: &Message,
) -> (String, Continuity) {
    exchange_of(house, who, talk(messages), Evidence::Empty, reply).await
}

async fn exchange_of(
    house: &House,
    who: &Caller,
    said: Conversation,
    evidence: Evidence,
    reply: &Message,
) -> (String, Continuity) {
    let witness = move |_: &[u8]| evidence;
    let mut turn = house.sessions.resume(who, said, &witness).await.unwrap();
    record(house, &mut turn, "exchange.admitted").await.unwrap();
    let found = (turn.reference().to_owned(), turn.continuity());
    turn.heard(reply.digest).await;
    let last = Event::from_bytes(event(&turn, "exchange.settled")).unwrap();
    turn.settle(last).await.unwrap();
    found
}

fn house() -> (tempfile::TempDir, House) {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path());
    (dir, house)
}

#[tokio::test]
async fn a_history_that_grows_stays_in_its_session() {
    let (_dir, house) = house();
    let ann = caller("ann", "t");
    let mut messages = vec![user("hi")];
    let mut sessions = Vec::new();
    for n in 0..20 {
        let reply = model(&format!("reply {n}"));
        sessions.push(exchange(&house, &ann, &messages, &reply).await);
        messages.extend([reply, user("and then?")]);
    }
    assert_eq!(sessions[0].1, Continuity::New);
    for (reference, found) in &sessions[1..] {
        assert_eq!((reference, *found), (&sessions[0].0, Continuity::Matched));
    }
    chain_is_whole(&house, &sessions[0].0);
}

#[tokio::test]
async fn a_history_may_slide_and_be_summed_up() {
    let (_dir, house) = house();
    let ann = caller("ann", "t");
    let mut messages = vec![user("hi")];
    let mut first = None;
    for n in 0..12 {
        let reply = model(&format!("reply {n}"));
        // The window shows some of the session's values, a whole history all of them.
        let shown = if n == 5 || n == 9 {
            Evidence::Some
        } else {
            Evidence::All
        };
        let (reference, found) = exchange_of(&house, &ann, talk(&messages), shown, &reply).await;
        let first = first.get_or_insert_with(|| reference.clone());
        assert_eq!(&reference, first, "{n}");
        assert_eq!(found == Continuity::New, n == 0);
        messages.extend([reply, user(&format!("question {n}"))]);
        match n {
            // The last messages alone, from here on.
            4 => drop(messages.drain(..messages.len() - 5)),
            // A summary in front of the last ones.
            8 => {
                let kept = messages.split_off(messages.len() - 5);
                messages = vec![user("summary: much was said")];
                messages.extend(kept);
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn what_could_be_two_conversations_is_neither() {
    let (_dir, house) = house();
    let ann = caller("ann", "t");
    let (one, _) = exchange(&house, &ann, &[user("hi")], &model("hello")).await;
    let (two, _) = exchange(&house, &ann, &[user("hi")], &model("hello")).await;
    assert_ne!(one, two);
    let third = [user("hi"), model("hello"), user("a")];
    let (three, found) = exchange(&house, &ann, &third, &model("b")).await;
    assert_eq!(found, Continuity::Ambiguous);
    assert!(three != one && three != two);
    // From there on it is one of its own.
    let fourth = [third.as_slice(), &[model("b"), user("c")]].concat();
    let (four, found) = exchange(&house, &ann, &fourth, &model("d")).await;
    assert_eq!((four, found), (three, Continuity::Matched));
}

/// That of the conversation has ended, so another that ends in the same words is not taken for it.
#[tokio::test]
async fn a_conversation_that_has_ended_is_not_looked_for_elsewhere() {
    let (_dir, house) = house();
    let ann = caller("ann", "t");
    let (ended, _) = exchange(&house, &ann, &[user("yes")], &model("done")).await;
    house.sessions.close(&ann, &ended).await.unwrap();
    let again = [user("yes"), model("done"), user("more")];
    let turn = resume(&house, &ann, &again).await;
    assert_eq!(turn.continuity(), Continuity::New);
    let long = [user("start"), model("really?"), user("yes")];
    let (other, _) = exchange(&house, &ann, &long, &model("done")).await;
    let (next, found) = exchange(&house, &ann, &again, &model("x")).await;
    assert_eq!(found, Continuity::Ambiguous);
    assert!(next != other && next != ended);
}

#[tokio::test]
async fn nobody_continues_anothers_conversation() {
    let (_dir, house) = house();
    let first = [user("hi")];
    let next = [user("hi"), model("hello"), user("more")];
    let (own, _) = exchange(&house, &caller("ann", "t"), &first, &model("hello")).await;
    for foreign in [caller("bob", "t"), caller("ann", "u")] {
        let (other, found) = exchange(&house, &foreign, &next, &model("x")).await;
        assert_eq!(found, Continuity::New);
        assert_ne!(own, other);
    }
    let (again, found) = exchange(&house, &caller("ann", "t"), &next, &model("x")).await;
    assert_eq!((again, found), (own, Continuity::Matched));
}

/// Many people's agents greet alike: what tells their conversations apart is what they hold.
#[tokio::test]
async fn a_conversation_that_reads_alike_needs_the_values_of_the_session() {
    let (_dir, house) = house();
    let ann = caller("ann", "t");
    let (own, _) = exchange(&house, &ann, &[user("hi")], &model("how can I help?")).await;
    let next = [
        user("hi"),
        model("how can I help?"),
        user("what do you know?"),
    ];
    for (shown, system, user, meant) in [
        (Evidence::None, 0, 0, false),
        (Evidence::Some, 0, 0, false),
        (Evidence::Unknown, 0, 0, false),
        (Evidence::Empty, 1, 0, false),
        (Evidence::All, 0, 1, false),
        (Evidence::All, 1, 0, true),
        (Evidence::Empty, 0, 0, true),
    ] {
        let said = Conversation {
            user: [user; 32],
            system: [system; 32],
            ..talk(&next)
        };
        let turn = house.sessions.resume(&ann, said, &|_: &[u8]| shown).await;
        let turn = turn.unwrap();
        assert_eq!(turn.reference() == own, meant, "{shown:?} {system} {user}");
        turn.release().await.unwrap();
    }
}

/// Its own session has gone on from there, so another that stands there now is not taken for it.
#[tokio::test]
async fn a_turn_that_is_asked_anew_is_in_nobody_elses_session() {
    let (_dir, house) = house();
    let ann = caller("ann", "t");
    let first = [user("hi")];
    let second = [user("hi"), model("hello"), user("more")];
    let (one, _) = exchange(&house, &ann, &first, &model("hello")).await;
    exchange(&house, &ann, &second, &model("much")).await;
    let (other, _) = exchange(&house, &ann, &first, &model("hello")).await;
    let (again, found) = exchange(&house, &ann, &second, &model("else")).await;
    assert_eq!(found, Continuity::Ambiguous);
    assert!(again != one && again != other);
}

#[tokio::test]
async fn a_session_in_use_is_not_waited_for() {
    let (_dir, house) = house();
    let ann = caller("ann", "t");
    let (one, _) = exchange(&house, &ann, &[user("hi")], &model("hello")).await;
    let next = vec![user("hi"), model("hello"), user("more")];
    let held = resume(&house, &ann, &next).await;
    assert_eq!(held.reference(), one);
    let other = resume(&house, &ann, &next).await;
    assert_ne!(other.reference(), one);
    assert_eq!(other.continuity(), Continuity::New);
    held.release().await.unwrap();
}

/// What a client does with its history before the next turn.
#[derive(Clone, Copy, Debug)]
enum Habit {
    Grows,
    Slides(usize),
    SumsUp(usize),
}

fn habit() -> impl Strategy<Value = Habit> {
    prop_oneof![
        3 => Just(Habit::Grows),
        1 => (1..4_usize).prop_map(Habit::Slides),
        1 => (1..4_usize).prop_map(Habit::SumsUp),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Conversations that say little, begin alike and run through each other, whatever their clients
    /// do with the history: no session ever belongs to two of them.
    #[test]
    fn no_two_conversations_are_ever_one(
        turns in proptest::collection::vec((0..6_usize, 0..3_u8, 0..2_u8, habit()), 1..50),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (_dir, house) = house();
            let ann = caller("ann", "t");
            let mut talks: Vec<Vec<Message>> = vec![Vec::new(); 6];
            let mut owner = std::collections::HashMap::new();
            for (who, asked, answered, habit) in turns {
                let talk = &mut talks[who];
                talk.push(user(&format!("ask {asked}")));
                let reply = model(&format!("say {answered}"));
                let (reference, _) = exchange(&house, &ann, talk, &reply).await;
                assert_eq!(*owner.entry(reference).or_insert(who), who);
                talk.push(reply);
                match habit {
                    Habit::Grows => {}
                    Habit::Slides(pairs) => {
                        talk.drain(..talk.len().saturating_sub(2 * pairs));
                    }
                    Habit::SumsUp(pairs) => {
                        talk.drain(..talk.len().saturating_sub(2 * pairs));
                        talk.insert(0, user("what was said before"));
                    }
                }
            }
        });
    }
}
