//! Names as texts hold them, and words that only look like names.

use crate::rules::testing::{found, nothing};

fn person(text: &str, names: &[&str]) {
    found(text, "PERSON", names);
}

#[test]
fn who_signs() {
    person(
        "Yours sincerely,\nOttilie Zwetschkenbaum\nHead of x",
        &["Ottilie Zwetschkenbaum"],
    );
    person("Dictated by: Yevgenia Lobanova, MD", &["Yevgenia Lobanova"]);
    nothing("Kind regards,\nThe Support Team\n");
    nothing("best,\nAcme Robotics is");
}

#[test]
fn known_names_in_sentences() {
    person("Please ask Hannah Lindqvist for it.", &["Hannah Lindqvist"]);
    person("with Kwame de la Cruz today", &["Kwame de la Cruz"]);
    person("Ask B. Smith-Jones for the deck", &["B. Smith-Jones"]);
    person("Customer: Zhang, April. VIN", &["Zhang, April"]);
    person(
        "They had 3: Angelo, Melissa and Brian.",
        &["Angelo", "Melissa", "Brian"],
    );
    person("Anna's car", &["Anna"]);
    person(
        "zasądza od Anny Kowalskiej na rzecz Marka Nowaka",
        &["Anny Kowalskiej", "Marka Nowaka"],
    );
    person("SSR PiotrZalewski", &["PiotrZalewski"]);
    person("bad row \"Will Young;x@example.org\"", &["Will Young"]);
    person(
        "ist von Frank Grotelüschen geschrieben",
        &["Frank Grotelüschen"],
    );
    person("From: April Rivera <", &["April Rivera"]);
    person("f/u with Dr. van der Berg in", &["van der Berg"]);
    person("Клиентът Иван Петров може", &["Иван Петров"]);
    person("με τον Γιώργος Παπαδόπουλος", &["Γιώργος Παπαδόπουλος"]);
}

#[test]
fn words_that_lead_to_a_name() {
    person("Attending: Dr. Xyrella Quonset\n", &["Xyrella Quonset"]);
    person("Sehr geehrte Frau Brzęczek,", &["Brzęczek"]);
    person("<name>Yuki Virtanen</name>", &["Yuki Virtanen"]);
    person("{\"first_name\":\"Zorblax\",\"n\":1}", &["Zorblax"]);
    person("From: Jordan Dubois <x@example.org>", &["Jordan Dubois"]);
    person("Nazwisko i imię: Marek Nowak\n", &["Marek Nowak"]);
}

#[test]
fn scripts_without_capitals() {
    person("联系人：王建国，电话", &["王建国"]);
    person("，瑪麗·喬·懷特（Mary", &["瑪麗·喬·懷特", "Mary"]);
    person("李先生来电", &["李"]);
    person("田中様へ", &["田中"]);
    person("김민준 씨가 왔다", &["김민준"]);
    person("السيد محمد الامام هنا", &["محمد الامام"]);
}

#[test]
fn words_that_are_no_names() {
    for text in [
        "The Jordan River and Victoria Station.",
        "Run Travis CI with Ruby on Jenkins.",
        "class Martin(Base): pass",
        "import { Hannah } from './hannah'",
        "in April May Day was on a Friday",
        "Dear Customer, Dear Team,",
        "self.Anna.run()",
        "Hello World, Hi Everyone",
        "name: Gatehouse",
        "\"name\": \"Wireless Mouse\"",
        "Mark the box. Will it work? Grace period.",
    ] {
        nothing(text);
    }
}

#[test]
fn what_was_missed_once() {
    person("notes: N. Lee will sync", &["N. Lee"]);
    person("\"name\":\"O. Bell\",\"email\"", &["O. Bell"]);
    person("Patient: Will Virtanen   MRN", &["Will Virtanen"]);
    person("SSR Beata\nSzymańska\n\npo", &["Beata\nSzymańska"]);
    person("Wniosek Marka Nowaka poddano", &["Marka Nowaka"]);
    person("Her maiden name is Ybarra", &["Ybarra"]);
    person("Her maiden name is Key", &["Key"]);
    person("the account? User: Marcus Paulsen", &["Marcus Paulsen"]);
    person("seen by J. Kim today", &["J. Kim"]);
    person("od AnnyKowalskiej na", &["AnnyKowalskiej"]);
}

#[test]
fn words_of_other_languages_products_and_places() {
    for text in [
        "Bitte öffnen Sie das Menü und wählen Sie Drucker aus.",
        "\"product\": \"Aurora Desk Lamp\"",
        "led by Berlin and Madrid",
        "deploy it with Kafka and Cassandra today",
    ] {
        nothing(text);
    }
}

#[test]
fn who_speaks_or_acts() {
    person("„Das geht nicht“, sagte Quandel am Abend.", &["Quandel"]);
    person("kazao je Zubak novinarima", &["Zubak"]);
    person("istaknula je von Hohenau", &["von Hohenau"]);
    person("but Okwuosa said nothing", &["Okwuosa"]);
    person("because Farrugia nodded and left", &["Farrugia"]);
    person("\"Tudo mudou\", disse Quaresma ontem", &["Quaresma"]);
    person("as Ferreira believes it", &["Ferreira"]);
    person("Quandtner sagte, es sei gut.", &["Quandtner"]);
    person("u Ljubljani, Hrastelj je kazao da", &["Hrastelj"]);
    for text in [
        "Officials said it was late.",
        "She said Monday would do.",
        "Niemand sagte etwas. Legal said no.",
        "the API said no",
        "If the server said so, Windows said nothing.",
    ] {
        nothing(text);
    }
}

#[test]
fn who_stands_in_one_row_with_a_name() {
    person(
        "sync with Étienne and April on pricing",
        &["Étienne", "April"],
    );
    person(
        "They had 4: Maria, Kelly, Jordan and Hannah.",
        &["Maria", "Kelly", "Jordan", "Hannah"],
    );
    person("Bjarne og Max er sikre", &["Bjarne", "Max"]);
    person("with Hannah in Washington", &["Hannah"]);
    for text in [
        "from April, May and June",
        "Ruby, Python and Java",
        "in Paris and London",
        "a lake in Chad",
    ] {
        nothing(text);
    }
}

#[test]
fn forms_of_names_in_slavic_languages() {
    person("Sprawę prowadzi Pawłem.", &["Pawłem"]);
    person("umowę podpisała Nowakowska, po czym", &["Nowakowska"]);
    person(
        "spotkał się z Kacprem Wójcikiem w środę",
        &["Kacprem Wójcikiem"],
    );
    person(
        "zeznał, że dał Aleksandrowi Kowalskiemu",
        &["Aleksandrowi Kowalskiemu"],
    );
}

#[test]
fn letters_set_apart() {
    person(
        "PROTOKOLANT: M a r e k N o w a k obecny",
        &["M a r e k N o w a k"],
    );
    person(
        "seen by H.a.n.n.a.h L.i.n.d.q.v.i.s.t today",
        &["H.a.n.n.a.h L.i.n.d.q.v.i.s.t"],
    );
    nothing("A B C D E F G and a b c");
    nothing("T h e q u i c k fox");
}

#[test]
fn who_begins_a_sentence_or_a_letter() {
    person("Bergström verkaufte das Haus.", &["Bergström"]);
    person("It was late. Kowalczyk joined us.", &["Kowalczyk"]);
    person("Ed,\nthank you", &["Ed"]);
    for text in [
        "Files created here.",
        "Hash computed.",
        "Table,\nchair",
        "Mark moved it.",
    ] {
        nothing(text);
    }
}

#[test]
fn names_in_fields_of_things() {
    person("{\"name\": \"Hannah Xylo\", \"n\": 1}", &["Hannah Xylo"]);
    person("film by Brad L Key and others", &["Brad L Key"]);
    person("What's your last name? Nielsen", &["Nielsen"]);
    for text in [
        "{\"name\": \"Cabo Delgado\", \"type\": \"Province\"}",
        "{\"alpha_4\": \"Tale\", \"n\": 1}",
        "{\"name\": \"French Guiana\", \"n\": 1}",
        "vierzehn Tage nach den neuen Länder im Juni",
        "{\"name\": \"Philippine Peso\", \"numeric\": \"608\"}",
        "struct 'User::grent' and use User::grent;",
    ] {
        nothing(text);
    }
}

#[test]
fn keys_that_end_in_one_for_names() {
    for key in [
        "customer_last_name",
        "employeeFirstName",
        "billing full name",
        "patient_name",
    ] {
        assert!(super::names_person(key), "{key}");
    }
    for key in [
        "file_name",
        "last_filename",
        "product name",
        "name",
        "hostName",
        "last_seen",
    ] {
        assert!(!super::names_person(key), "{key}");
    }
}

#[test]
fn speakers() {
    person("Amber: \\\"Who is it?\\\"", &["Amber"]);
    nothing("Message: \\\"Who is it?\\\"");
}

/// Scripts share first bytes, and a walk that skips by bytes must not stop at one of another script.
#[test]
fn every_character_is_passed() {
    for c in '\u{80}'..=char::MAX {
        let found = super::find(c.encode_utf8(&mut [0; 4]), true);
        assert!(found.settled <= c.len_utf8(), "{c:?}");
    }
}
