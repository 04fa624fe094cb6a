//! What the place of a leaf says of it.

use super::*;

#[test]
fn a_name_beside_a_value_is_its_key() {
    let mut session = Session::new();
    for (json, value) in [
        (
            r#"{"env":[{"name":"DB_PASSWORD","value":"hunter2x9"},{"name":"MODE","value":"fast2x9"}]}"#,
            "hunter2x9",
        ),
        (
            r#"{"Value":"hunter2x9","Name":"/prod/db/password"}"#,
            "hunter2x9",
        ),
        (
            r#"[{"ParameterKey":"DBPassword","ParameterValue":"hunter2x9"}]"#,
            "hunter2x9",
        ),
        (
            r#"{"Name":"/prod/x","Type":"SecureString","Value":"hunter2x9"}"#,
            "hunter2x9",
        ),
        (
            r#"{"x":{"sensitive":true,"value":"hunter2x9"}}"#,
            "hunter2x9",
        ),
        (
            r#"{"parameters":{"adminPassword":{"value":"hunter2x9"}}}"#,
            "hunter2x9",
        ),
        (
            r#"{"cookie":"theme=dark; x=abc123"}"#,
            "theme=dark; x=abc123",
        ),
        (r#"{"cvv":"123"}"#, "123"),
        (
            r#"{"label":"Date of birth","values":["1990-01-02"]}"#,
            "1990-01-02",
        ),
        (
            r#"{"headers":[{"name":"X-Api-Key","value":"zX81kk29QpLm44Rt"}]}"#,
            "zX81kk29QpLm44Rt",
        ),
        (r#"{"key":"last_name","value":"okonjo"}"#, "okonjo"),
        (
            r#"{"STRIPE_KEY":"zX81kk29QpLm44RtAA"}"#,
            "zX81kk29QpLm44RtAA",
        ),
    ] {
        let out = redact(&mut session, json);
        assert_eq!(out, json.replace(value, &token(&session, value)), "{json}");
    }
    for other in [
        r#"{"dependencies":{"minipass":"^7.0.2","pass":">=1.2 <2","bypass":"~0.3.1-rc.1"}}"#,
        r#"{"paths":{"@token":["src/token"]},"x":{"sensitive":false,"value":"fast2x9"}}"#,
    ] {
        assert_eq!(redact(&mut session, other), other);
    }
    let other = r#"{"name":"password","content":"fast2x9","items":[{"value":"slow2x9"}]}"#;
    assert_eq!(redact(&mut session, other), other);
}

#[test]
fn a_name_that_the_policy_knows_is_a_key_beside_a_value() {
    let policy = "[[field]]\nkeys = ['badge']\nlabel = 'BADGE'";
    let mut session = Session::with(policy);
    let out = redact(&mut session, r#"{"field":"Badge","value":"blue heron"}"#);
    let token = token(&session, "blue heron");
    assert_eq!(
        out,
        format!("{{\"field\":\"Badge\",\"value\":\"{token}\"}}")
    );
}

/// What stands behind a name in a text stands under it in JSON.
#[test]
fn a_key_names_its_value_as_it_does_in_text() {
    let keys = [
        "pw",
        "clave",
        "senha",
        "kennwort",
        "pin",
        "otp",
        "credentials",
        "auth",
        "bearer",
        "session",
        "Set-Cookie",
        "cookie",
        "sid",
        "jwt",
        "dsn",
        "sig",
        "nonce",
        "signing_key",
        "encryption_key",
        "license_key",
        "master_key",
        "storage_key",
        "Authorization",
        "proxy-authorization",
        "db_password",
        "stripe_key",
        "access_token",
        "token_prod",
        "mode",
        "primary_key",
        "author",
    ];
    let values = [
        "hunter2x9",
        "zX81kk29QpLm44RtAA",
        "Basic bGVuYTpzZWNyZXQ=",
        "4711",
        "A0750176",
        "session=zX81kk29QpLm44RtAA; Path=/",
        "rotweiler",
    ];
    let engine = crate::Engine::new(&crate::Policy::default()).unwrap();
    let find = |text: &str, key| {
        let direction = Direction::Prompt;
        engine.find(text, Field { key, direction }).unwrap()
    };
    let mut found = 0;
    for key in keys {
        for value in values {
            let text = format!("{key}: {value}");
            let before = key.len() + 2;
            for named in find(&text, None) {
                let spans = find(value, Some(key));
                let covered = spans.iter().any(|span| {
                    span.start + before <= named.start && named.end <= span.end + before
                });
                assert!(covered, "{text}: {named:?}, {spans:?}");
                found += 1;
            }
        }
    }
    assert!(found > 60, "{found}");
}

/// Every value is replaced, the rest of the document left.
fn replaces(json: &str, values: &[&str]) {
    let mut session = Session::new();
    let out = redact(&mut session, json);
    let mut expected = json.to_owned();
    for value in values {
        expected = expected.replace(value, &token(&session, value));
    }
    assert_eq!(out, expected, "{json}");
}

fn leaves(json: &str) {
    replaces(json, &[]);
}

/// The entry point holds whatever its keys are called; other kinds have the same members.
#[test]
fn a_secret_of_kubernetes_is_secret_under_any_key() {
    let long = "QmFzZTY0IG9mIGEgY2VydGlmaWNhdGUu".repeat(20);
    let json = r#"{"apiVersion":"v1","data":{"user":"YWRtaW4=","x.crt":"LONG"},"kind":"Secret","metadata":{"name":"db-login"},"stringData":{"url":"blue heron 17","mode":"production"},"type":"Opaque"}"#;
    let json = json.replace("LONG", &long);
    replaces(&json, &["YWRtaW4=", &long, "blue heron 17"]);
    // In a list of them, and where the manifest is a text in another.
    let list = r#"{"items":[{"kind":"Secret","data":{"a":"Ym9iYnk="}}],"kind":"List"}"#;
    replaces(list, &["Ym9iYnk="]);
    let applied = r#"{"last-applied":"{\"kind\":\"Secret\",\"data\":{\"a\":\"Ym9iYnk=\"}}"}"#;
    replaces(applied, &["Ym9iYnk="]);
    leaves(r#"{"kind":"ConfigMap","data":{"user":"YWRtaW4=","mode":"blue heron 17"}}"#);
    leaves(r#"{"kind":"SealedSecret","data":{"user":"YWRtaW4="}}"#);
    leaves(r#"{"kind":"Secret","metadata":{"labels":{"tier":"YWRtaW4="}}}"#);
    leaves(r#"{"kind":"Secret","data":{"user":"${USER}","x":null}}"#);
}

/// HumanName, FHIR R4 datatypes §2.24.0.13.
#[test]
fn names_of_fhir() {
    let json = r#"{"resourceType":"Patient","name":[{"use":"official","family":"Zzyrowski","given":["Qlaud","Ber"]}]}"#;
    replaces(json, &["Zzyrowski", "Qlaud", "Ber"]);
    leaves(r#"{"font":{"family":"Zzyrowski","size":12},"given":["Qlaud"]}"#);
}

#[test]
fn an_argument_is_known_by_the_flag_before_it() {
    for json in [
        r#"{"args":["--token","hunter2x9","--port","8080"]}"#,
        r#"["app","--db-password","hunter2x9"]"#,
        r#"["keytool","-storepass","hunter2x9","-alias","server2x9"]"#,
        r#"["sshpass","-p","hunter2x9","ssh","web2x9"]"#,
        r#"["/usr/bin/redis-cli","-a","hunter2x9","ping"]"#,
        r#"["docker","login","-u","bot","-p","hunter2x9"]"#,
        r#"["sudo","ldapsearch","-x","-w","hunter2x9"]"#,
    ] {
        replaces(json, &["hunter2x9"]);
    }
    replaces(r#"["curl","-u","lena:hunter2x9","x"]"#, &["lena:hunter2x9"]);
    for json in [
        // A port, a prompt, a path, a pattern: the same letter of other programs.
        r#"["docker","run","-p","8080x9:80"]"#,
        r#"["mkdir","-p","build2x9"]"#,
        r#"["grep","-w","hunter2x9"]"#,
        r#"["curl","-u","lena2x9","x"]"#,
        // What is not the flag's value, or says something about one.
        r#"["--token","--verbose2x9"]"#,
        r#"["--password-stdin","registry2x9"]"#,
        r#"["--token-file","secrets2x9"]"#,
        r#"["token","hunter2x9"]"#,
        r#"["--output","hunter2x9"]"#,
    ] {
        leaves(json);
    }
}

#[test]
fn the_second_of_a_pair_is_known_by_the_first() {
    replaces(
        r#"{"env":[["DB_PASSWORD","hunter2x9"],["MODE","fast2x9"]]}"#,
        &["hunter2x9"],
    );
    replaces(
        r#"[["Content-Type","text/plain"],["X-Api-Key","zX81kk29QpLm44Rt"]]"#,
        &["zX81kk29QpLm44Rt"],
    );
    for json in [
        // Words, a list of three, a list that stands in none.
        r#"[["password","Kennwort"],["token","Marke"]]"#,
        r#"[["password","hunter2x9","fast2x9"]]"#,
        r#"{"x":["password","hunter2x9"]}"#,
    ] {
        leaves(json);
    }
}

#[test]
fn a_cell_is_known_by_the_name_of_its_column() {
    for json in [
        r#"{"columns":["id","password"],"rows":[[1,"hunter2x9"],[2,null]]}"#,
        r#"{"fields":[{"name":"id"},{"name":"password"}],"values":[["a17","hunter2x9"]]}"#,
        r#"{"index":[0],"columns":["note","api_token"],"data":[["fast2x9","hunter2x9AAbb77"]]}"#,
    ] {
        let value = match json.contains("AAbb77") {
            true => "hunter2x9AAbb77",
            false => "hunter2x9",
        };
        replaces(json, &[value]);
    }
    replaces(
        r#"{"columns":["mode","dob"],"rows":[["1990-01-02","1990-01-03"]]}"#,
        &["1990-01-03"],
    );
    for json in [
        r#"{"columns":["id","mode"],"rows":[[1,"hunter2x9"]]}"#,
        r#"{"columns":["password"],"total":["hunter2x9"]}"#,
        r#"{"columns":["password","mode"],"rows":[{"mode":"hunter2x9"}]}"#,
    ] {
        leaves(json);
    }
}

#[test]
fn cookies_open_sessions_whatever_they_are_called() {
    for json in [
        r#"{"cookies":[{"name":"JSESSIONID","value":"zX81kk29QpLm44Rt","path":"/app"}]}"#,
        r#"{"request":{"cookies":{"sess":"zX81kk29QpLm44Rt","theme":"dark"}}}"#,
    ] {
        replaces(json, &["zX81kk29QpLm44Rt"]);
    }
    leaves(r#"{"cookies":[{"name":"lang","value":"en-US"},{"name":"theme","value":"dark"}]}"#);
    leaves(r#"{"headers":[{"name":"x-trace","value":"zX81kk29QpLm44Rt"}]}"#);
}

#[test]
fn keys_that_are_called_like_a_secret_or_a_person() {
    for json in [
        r#"{"scripts":{"password":"node scripts/reset-2.js","token":"ts-node gen2.ts --All"}}"#,
        r#"{"reporter":["html"],"reporters":["default","junit"]}"#,
        r#"{"reporter":"spec"}"#,
        r#"{"spec":{"serviceAccountName":"web-runner7","service_account_name":"web-runner7"}}"#,
        r#"{"SecretArn":"arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf"}"#,
        r#"{"secret":"arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf"}"#,
    ] {
        leaves(json);
    }
    replaces(r#"{"reporter":"tokafor7"}"#, &["tokafor7"]);
    replaces(r#"{"accountName":"tokafor7"}"#, &["tokafor7"]);
    replaces(r#"{"secret":"zX81kk29QpLm44Rt"}"#, &["zX81kk29QpLm44Rt"]);
}
