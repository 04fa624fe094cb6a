//! The time of a server, moved for tests: its own clock stands, so all that it compares with it is
//! moved instead.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::{Connection, cmd};

/// What the server's clock shows: this machine's.
#[expect(clippy::disallowed_methods, reason = "the server asks the system too")]
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_micros()).unwrap()
}

pub(super) fn advance(server: &mut Connection, by: Duration) {
    let by_us = i64::try_from(by.as_micros()).unwrap();
    let keys: Vec<String> = cmd("KEYS").arg("*").query(server).unwrap();
    for key in keys {
        let kind = key.split(':').nth(2).unwrap().to_owned();
        match kind.as_str() {
            "session" => {
                fields(server, &key, &["expires", "lease_until"], by_us);
                line(server, &key, by_us);
            }
            "ends" | "conversation" => scores(server, &key, by_us),
            "ended" => rows(server, &key, by_us),
            _ => {}
        }
        let left: i64 = cmd("PTTL").arg(&key).query(server).unwrap();
        if left >= 0 {
            let left = left - by_us / 1000;
            cmd("PEXPIRE").arg(&key).arg(left).exec(server).unwrap();
        }
    }
}

fn fields(server: &mut Connection, key: &str, names: &[&str], by_us: i64) {
    for name in names {
        let mut by = cmd("HINCRBY");
        by.arg(key).arg(name).arg(-by_us).exec(server).unwrap();
    }
}

/// Those that stand in line for a session stand there so much less.
fn line(server: &mut Connection, key: &str, by_us: i64) {
    let line: Option<String> = cmd("HGET").arg(key).arg("line").query(server).unwrap();
    if let Some(line) = line {
        let line = earlier_line(&line, by_us);
        let mut set = cmd("HSET");
        set.arg(key).arg("line").arg(line).exec(server).unwrap();
    }
}

/// A line as a store keeps it, so much earlier.
pub(crate) fn earlier_line(line: &str, by_us: i64) -> String {
    let places = line.split(' ').map(|place| {
        let (holder, until_us) = place.split_once(':').unwrap();
        format!("{holder}:{}", until_us.parse::<i64>().unwrap() - by_us)
    });
    places.collect::<Vec<_>>().join(" ")
}

fn scores(server: &mut Connection, key: &str, by_us: i64) {
    let members: Vec<String> = cmd("ZRANGE").arg(key).arg(0).arg(-1).query(server).unwrap();
    for member in members {
        let mut by = cmd("ZINCRBY");
        by.arg(key).arg(-by_us).arg(member).exec(server).unwrap();
    }
}

fn rows(server: &mut Connection, key: &str, by_us: i64) {
    let rows: Vec<(String, String)> = cmd("HGETALL").arg(key).query(server).unwrap();
    for (name, row) in rows {
        let (format, rest) = row.split_once(':').unwrap();
        let (end, value) = rest.split_once(':').unwrap();
        let end = end.parse::<i64>().unwrap() - by_us;
        let row = format!("{format}:{end}:{value}");
        cmd("HSET")
            .arg(key)
            .arg(name)
            .arg(row)
            .exec(server)
            .unwrap();
    }
}
