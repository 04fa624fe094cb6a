//! What stands between a shared store and the log: every admitted exchange is settled once, and no
//! number is in no log without being declared missing.

use super::{
    replicas::{ADMITTED, Replicas, SETTLED, digest_of, offer, outside, unchained},
    *,
};
use crate::session::{
    store::faulty::Fault,
    typed::{Asked, Change, Text},
};
use gatehouse_ledger::AppendError;

async fn admitted(all: &Replicas, house: &House) -> Turn {
    let mut turn = all.turn(house).await;
    let admission = offer(&turn, ADMITTED);
    assert!(turn.admit(admission, || ()).await.is_ok());
    turn
}

async fn exchange(all: &Replicas, house: &House) {
    let turn = admitted(all, house).await;
    let last = offer(&turn, SETTLED);
    turn.settle(last).await.unwrap();
}

/// The next start of the first process, whose log has the session's events up to `logged`.
async fn restarted(all: &Replicas, logged: u64) -> House {
    let again = all.one.restarted(all.dir.path(), all.one.pages.clone());
    let reference = &all.opened.reference;
    let known = [Logged {
        sid: reference.clone(),
        sseq: logged,
        digest: digest_of(&all.one, reference, logged),
    }];
    assert_eq!(again.sessions.replay(&known).await.unwrap(), 0);
    again
}

/// The outbox's file takes nothing any more, as on a full disk.
fn fill(turn: &Turn) {
    assert!(turn.shared.outbox.fill().is_some());
}

#[tokio::test]
async fn an_exchange_that_was_overtaken_is_settled_once() {
    for owed in [false, true] {
        let all = Replicas::new().await;
        let mut late = admitted(&all, &all.one).await;
        all.one.clock.advance(Duration::from_secs(61));
        let newer = all.turn(&all.two).await;
        assert!(late.renew().await.is_err());
        assert!(late.place().is_none());
        if owed {
            all.one
                .pages
                .break_next(BookError::from(AppendError::DiskFull).into());
        }
        assert!(late.settle(outside(SETTLED)).await.is_err());
        all.one.pages.pay();
        drop(newer);
        let again = restarted(&all, 1).await;
        assert_eq!(unchained(&again), [SETTLED], "{owed}");
    }
}

/// Its task is gone, and with it the turn; who promised its end has said it.
#[tokio::test]
async fn an_exchange_that_broke_off_is_settled_once() {
    for said in [false, true] {
        let all = Replicas::new().await;
        let turn = admitted(&all, &all.one).await;
        let end = turn.exchange_end().unwrap();
        drop(turn);
        if said {
            end();
        }
        let again = restarted(&all, 1).await;
        let closing: &[&str] = if said { &[] } else { &["closing"] };
        assert_eq!(unchained(&again), closing);
    }
}

/// The log does not take a settlement that the store has, and the process dies.
#[tokio::test]
async fn a_settlement_that_the_log_only_owes_is_logged_by_the_next_start() {
    for goes_on in [false, true] {
        let all = Replicas::new().await;
        let turn = admitted(&all, &all.one).await;
        let last = offer(&turn, SETTLED);
        all.one
            .pages
            .break_next(BookError::from(AppendError::DiskFull).into());
        let settled = turn.settle(last).await;
        assert!(matches!(settled, Err(SessionError::Log)));
        if goes_on {
            exchange(&all, &all.one).await;
            let (numbers, missing) = all.numbers(&[&all.one]);
            assert_eq!(missing, [2]);
            assert_eq!(numbers, [0, 1, 3, 4, 5]);
        }
        let logged = if goes_on { 5 } else { 1 };
        let again = restarted(&all, logged).await;
        assert!(unchained(&again).is_empty());
        if !goes_on {
            assert_eq!(all.numbers(&[&again]).0, [0, 1, 2]);
        }
    }
}

/// An event that cannot be written down is not told to the store, and its record is not lost.
#[tokio::test]
async fn a_full_disk_loses_no_record() {
    let all = Replicas::new().await;
    let turn = admitted(&all, &all.one).await;
    let last = offer(&turn, SETTLED);
    fill(&turn);
    let settled = turn.settle(last).await;
    assert!(matches!(settled, Err(SessionError::Store(_))));
    assert_eq!(unchained(&all.one), ["exchange.refused"]);
    // The lease is free, and the number is the next one's.
    let mut turn = all.turn(&all.two).await;
    assert_eq!(turn.link().sseq, 2);
    turn.release().await.unwrap();

    turn = all.turn(&all.one).await;
    let admission = offer(&turn, ADMITTED);
    let refused = turn.admit(admission, || panic!("logged")).await;
    let refused = refused.err().unwrap();
    assert!(matches!(refused.error, SessionError::Store(_)));
    assert!(!refused.noted, "its refusal needs a record");
    turn.release().await.unwrap();
    assert_eq!(unchained(&all.one), ["exchange.refused"]);
    all.is_dense(&[&all.one, &all.two], 2);
}

/// The store took a settlement without saying so, and others have gone on for so long that nobody can
/// tell: the number is declared missing.
#[tokio::test]
async fn what_nobody_can_tell_of_any_more_is_declared_missing() {
    for handed in [false, true] {
        let all = Replicas::new().await;
        let turn = admitted(&all, &all.one).await;
        let last = offer(&turn, SETTLED);
        if handed {
            all.one
                .pages
                .break_next(BookError::from(AppendError::DiskFull).into());
        } else {
            all.one.faults.break_next(Fault::FailsButPersists);
        }
        assert!(turn.settle(last).await.is_err());
        for _ in 0..17 {
            exchange(&all, &all.two).await;
        }
        all.turn(&all.one).await.release().await.unwrap();
        let (numbers, missing) = all.numbers(&[&all.one, &all.two]);
        assert_eq!(missing, [2], "{handed}");
        assert!(!numbers.contains(&2) && numbers.len() == 37);
    }
}

/// A change whose record the log may have stands; one whose record it cannot have is taken back.
/// Either way the chain is known as it is.
#[tokio::test]
async fn a_change_is_taken_back_only_if_the_log_cannot_have_it() {
    let cases = [(AppendError::Failed, 1, 4), (AppendError::DiskFull, 0, 3)];
    for (error, version, next) in cases {
        let all = Replicas::new().await;
        exchange(&all, &all.one).await;
        all.one.pages.break_next(BookError::from(error).into());
        let reference = all.opened.reference.as_str();
        let asked = Asked {
            request: "r_change",
            trace: None,
            expected: None,
        };
        let question = Text::new("Which one?");
        let change = Change::Pause { question };
        let made = all
            .one
            .sessions
            .change(&all.ann, reference, asked, change, &());
        assert!(Box::pin(made).await.is_err());
        let shown = all.two.sessions.state(&all.ann, reference, &()).await;
        assert_eq!(shown.unwrap().version, version, "{error}");
        let found = all.two.sessions.find_own(&all.ann, reference).await;
        let state = found.unwrap().1.state;
        assert_eq!(state.link.sseq, next);
        for sseq in 0..3 {
            let digest = digest_of(&all.one, reference, sseq);
            let known = state.digest_of(sseq).unwrap();
            assert!(digest.starts_with(&known), "{error} {sseq}");
        }
    }
}

/// What waits for a session that is set aside is said without it.
#[tokio::test]
async fn what_waits_for_a_session_that_is_set_aside_is_said_at_once() {
    let all = Replicas::new().await;
    let turn = admitted(&all, &all.one).await;
    let location = turn.location.clone();
    let last = offer(&turn, SETTLED);
    all.one.faults.break_next(Fault::Fails);
    assert!(turn.settle(last).await.is_err());
    let set_aside = all.two.sessions.set_aside(&location, None, None);
    set_aside.await.unwrap();
    for _ in 0..2 {
        all.one.sessions.mend(Duration::ZERO).await;
        assert_eq!(unchained(&all.one), ["exchange.refused"]);
    }
}
