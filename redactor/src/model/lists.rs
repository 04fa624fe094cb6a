//! Words that look like names and are none, and words in keys that say what stands behind them.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Words that begin a statement, a directive or a log line.
const STATEMENTS: &str = include_str!("statements.txt");

static STATEMENT_WORDS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| STATEMENTS.split_whitespace().collect());

/// Whether the first word of a line says that it is none of prose.
pub(super) fn is_statement(word: &str) -> bool {
    STATEMENT_WORDS.contains(word)
}

/// Products, projects and words of the trade that are also names of people or look like them;
/// months, days and the like. In lower case.
const TECHNICAL: &str = include_str!("technical.txt");

static TECHNICAL_WORDS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| TECHNICAL.split_whitespace().collect());

/// Whether a word, in any case, is on the list.
pub(super) fn is_technical(word: &str) -> bool {
    TECHNICAL_WORDS.contains(word.to_lowercase().as_str())
}

/// Words that stand in front of things.
pub(super) const DETERMINERS: &[&str] = &["a", "an", "any", "each", "every", "the", "this"];

/// Words inside names: `de`, `van`, `bin`.
pub(super) const PARTICLES: &[&str] = &[
    "af", "al", "ap", "av", "ben", "bin", "bint", "da", "das", "de", "degli", "dei", "del",
    "della", "der", "di", "do", "dos", "du", "e", "el", "ibn", "la", "le", "na", "op", "san", "st",
    "ten", "ter", "van", "vande", "vom", "von", "y", "zu", "zum", "zur",
];

/// Whether a word is one that columns are called.
pub(super) fn is_title(word: &str) -> bool {
    let plain = spelled(word);
    let usual = [
        "date", "dob", "email", "mail", "phone", "ssn", "iban", "amount", "status", "country",
    ];
    usual.contains(&plain.as_str()) || is_machine_key(word) || PERSONS.contains(&plain.as_str())
}

/// Words in front of a number inside an address.
const UNITS: &[&str] = &[
    "apartment",
    "apt",
    "bldg",
    "block",
    "box",
    "building",
    "fl",
    "flat",
    "floor",
    "lok",
    "nr",
    "po",
    "psc",
    "rm",
    "room",
    "ste",
    "suite",
    "unit",
];

pub(super) fn is_unit(word: &str) -> bool {
    UNITS.contains(&word.to_lowercase().as_str())
}

/// Keys whose values are text of any kind, so that they say nothing.
const CONTAINERS: &[&str] = &[
    "arguments",
    "body",
    "content",
    "data",
    "input",
    "message",
    "messages",
    "output",
    "parts",
    "prompt",
    "result",
    "system",
    "text",
    "thinking",
];

/// What parts of keys say that a person is meant.
const PERSONS: &[&str] = &[
    "agent",
    "applicant",
    "approver",
    "assignee",
    "attendee",
    "author",
    "beneficiary",
    "borrower",
    "cardholder",
    "caregiver",
    "client",
    "coach",
    "committer",
    "contact",
    "creator",
    "customer",
    "debtor",
    "doctor",
    "driver",
    "employee",
    "firstname",
    "fullname",
    "givenname",
    "guardian",
    "guest",
    "holder",
    "insured",
    "lastname",
    "manager",
    "member",
    "middlename",
    "nachname",
    "name",
    "nom",
    "nombre",
    "nome",
    "owner",
    "participant",
    "passenger",
    "patient",
    "payee",
    "payer",
    "person",
    "physician",
    "prenom",
    "provider",
    "recipient",
    "reporter",
    "requester",
    "reviewer",
    "sender",
    "signatory",
    "speaker",
    "student",
    "surname",
    "teacher",
    "tenant",
    "user",
    "vorname",
    "witness",
];

/// Keys whose name has such a part and that name a thing all the same.
const THINGS: &[&str] = &[
    "agentname",
    "appname",
    "applicationname",
    "branchname",
    "bucketname",
    "classname",
    "clustername",
    "codename",
    "columnname",
    "companyname",
    "containername",
    "dbname",
    "databasename",
    "devicename",
    "displaynamekey",
    "domainname",
    "eventname",
    "fieldname",
    "filename",
    "functionname",
    "groupname",
    "hostname",
    "imagename",
    "indexname",
    "jobname",
    "keyname",
    "loggername",
    "methodname",
    "modelname",
    "modulename",
    "nodename",
    "packagename",
    "podname",
    "poolname",
    "processname",
    "productname",
    "projectname",
    "propertyname",
    "providername",
    "queuename",
    "reponame",
    "resourcename",
    "rolename",
    "rulename",
    "schemaname",
    "servername",
    "servicename",
    "stepname",
    "streamname",
    "tablename",
    "tagname",
    "taskname",
    "tenantname",
    "threadname",
    "toolname",
    "topicname",
    "typename",
    "useragent",
    "username",
    "variablename",
    "workflowname",
];

const PLACES: &[&str] = &[
    "address",
    "addr",
    "adresse",
    "adres",
    "direccion",
    "indirizzo",
    "street",
    "strasse",
    "ulica",
    "city",
    "town",
    "shipto",
    "billto",
    "residence",
];

/// Keys whose values no person reads.
const MACHINES: &[&str] = &[
    "algorithm",
    "branch",
    "checksum",
    "class",
    "color",
    "commit",
    "digest",
    "encoding",
    "etag",
    "file",
    "format",
    "hash",
    "href",
    "icon",
    "id",
    "image",
    "key",
    "kind",
    "level",
    "license",
    "locale",
    "logger",
    "method",
    "mime",
    "model",
    "module",
    "package",
    "path",
    "pattern",
    "regex",
    "sha",
    "signature",
    "src",
    "status",
    "style",
    "tag",
    "token",
    "type",
    "uri",
    "url",
    "uuid",
    "version",
];

fn spelled(key: &str) -> String {
    key.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

pub(super) fn is_container(key: &str) -> bool {
    CONTAINERS.contains(&spelled(key).as_str())
}

pub(super) fn is_person_key(key: &str) -> bool {
    let key = spelled(key);
    !THINGS.contains(&key.as_str()) && PERSONS.iter().any(|part| key.ends_with(part))
}

pub(super) fn is_place_key(key: &str) -> bool {
    let key = spelled(key);
    PLACES.iter().any(|part| key.contains(part))
        && !key.starts_with("ip")
        && !key.starts_with("mac")
}

pub(super) fn is_machine_key(key: &str) -> bool {
    let last = key
        .rsplit(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let camel = last.rfind(char::is_uppercase).unwrap_or(0);
    let part = last.get(camel..).unwrap_or_default().to_lowercase();
    MACHINES.contains(&part.as_str()) || MACHINES.contains(&spelled(key).as_str())
}
