//! A log as a gateway writes it, through the ledger: one session with an exchange that may be flawed.

use std::{path::Path, sync::Arc};

use gatehouse_envelope::sign::MemorySigner;
use gatehouse_ledger::{
    Durability, Ledger, Mode, Options, Pace, SealLog,
    clock::SystemClock,
    event::{Builder, Event},
    store::Dir,
};

pub(crate) const SESSION: &str = "s_75xpnnpnhg6mngwnk7qclyc5rz";

/// What is wrong with the log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    /// Text in a list, which no view shows.
    Listed,
    /// A caller without a name.
    Nobody,
    /// A formula and markup where a model's name belongs.
    Text,
    /// A part of the request that nothing looked at.
    Unvisited,
}

/// Writes the log into `dir`, as a data directory.
pub(crate) fn write(dir: &Path, flaw: Flaw) {
    begin(dir, flaw).close().unwrap();
}

/// The same, by a writer that goes on.
pub(crate) fn begin(dir: &Path, flaw: Flaw) -> Ledger {
    let signer = Arc::new(MemorySigner::generate("prod").unwrap());
    let options = Options {
        seals: SealLog::Own,
        data_dir: dir.to_owned(),
        deployment: "prod".into(),
        mode: Mode::Local,
        pace: Pace::default(),
    };
    let store = Arc::new(Dir::new(dir.join("ledger")));
    let (ledger, _) = Ledger::open(options, store, signer, Arc::new(SystemClock::new())).unwrap();
    let mut sprev = [0; 32];
    for (sseq, kind) in ["session.open", "exchange.admitted", "exchange.settled"]
        .into_iter()
        .enumerate()
    {
        let mut event = Event::kind(kind);
        event.text("sid", SESSION);
        event.integer("sseq", sseq as u64).hex("sprev", &sprev);
        fill(&mut event, kind, flaw);
        let event = event.finish().unwrap();
        sprev = event.digest();
        ledger.append(event, Durability::Durable).wait().unwrap();
    }
    ledger.flush().wait().unwrap();
    ledger
}

fn fill(event: &mut Builder, kind: &str, flaw: Flaw) {
    if kind == "exchange.settled" {
        event.text("rid", "r_1").integer("status", 200);
        event.integer("up_status", 200).integer("attempts", 1);
        return;
    }
    event.text("prin", if flaw == Flaw::Nobody { "" } else { "p_a" });
    event.text("tok", "c_a").text("tenant", "t_1");
    event.object("st", |st| {
        st.text("kid", "sk_a")
            .text("kc", "00ff")
            .text("alg", "A256GCM");
    });
    if kind == "session.open" {
        event.integer("exp_us", 4_000_000_000_000_000);
        return;
    }
    event.text("rid", "r_1");
    if flaw == Flaw::Listed {
        event.texts("notes", ["call Jane at home"]);
    }
    event.object("red", |red| {
        red.text("status", "done").integer("visited", 3);
        red.integer("unvisited", u64::from(flaw == Flaw::Unvisited));
        red.objects("found", [("EMAIL", 2)], |item, (label, n)| {
            item.text("label", label).integer("n", n);
        });
        red.hex("out_h", &[7; 32]);
    });
    let model = "=cmd|' /c'!A1<script>\"x\",\n\u{202e}";
    event.object("up", |up| {
        up.text("model", if flaw == Flaw::Text { model } else { "m-1" });
    });
}
