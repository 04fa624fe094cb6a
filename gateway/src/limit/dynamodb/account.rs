//! An account as an item, and what is written to it.
//!
//! Beside the sums stands an attribute for each request that has set something aside (`o_` and its id,
//! with how much), and for some time one for each that has settled (`d_` and its id, with when), so that
//! what is asked again is not done again.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{
    super::{Claim, MOST, MeterError, Standing, Total},
    Answer,
};
use crate::{
    clock::later,
    registry::{Form, Item, Key, OVER, form, let_go, number, number_of},
};

/// The kind of the items. There is one in each partition.
const KIND: &str = "meter";
const ONLY: &str = "account";
const SPENT: &str = "spent_n";
const RESERVED: &str = "reserved_n";
/// What a request that has set something aside stands under.
const OPEN: &str = "o_";
/// What a request that has settled stands under.
const DONE: &str = "d_";
/// How long an account remembers a settled request. What is asked again is asked within seconds.
const KEPT: Duration = Duration::from_secs(60);
/// And how many at most: every write pays for the whole item. One that is forgotten too early and settled
/// once more is counted too much, never too little.
const REMEMBERED: usize = 64;
/// How many settled requests are forgotten with one settlement, at most.
const FORGOTTEN: usize = 20;

/// Where an account is.
pub(super) fn key(name: &str) -> Key {
    Key::new(KIND, name, ONLY)
}

/// What is written to an item, if it is as it must be.
pub(super) struct Update {
    pub(super) expression: String,
    pub(super) condition: String,
    pub(super) values: Vec<(&'static str, AttributeValue)>,
    pub(super) names: Vec<(String, String)>,
}

/// What an account holds, and what it knows of one request.
#[derive(Default)]
pub(super) struct Counts {
    is_there: bool,
    pub(super) total: Total,
    pub(super) over_us: i64,
    /// What the request has set aside.
    open: Option<u64>,
    /// It has settled.
    is_done: bool,
    /// When requests settled that the account still knows.
    done: Vec<(String, i64)>,
}

impl Counts {
    pub(super) fn read(item: &Item, request: &str) -> Result<Self, MeterError> {
        match form(item) {
            Form::Ours => Self::parse(item, request).ok_or(MeterError::Damaged),
            Form::Newer => Err(MeterError::Newer),
            Form::Damaged => Err(MeterError::Damaged),
        }
    }

    fn parse(item: &Item, request: &str) -> Option<Self> {
        let own = |prefix: &str| format!("{prefix}{request}");
        let open = match item.contains_key(&own(OPEN)) {
            true => Some(number_of(item, &own(OPEN))?),
            false => None,
        };
        let done = item.keys().filter(|name| name.starts_with(DONE));
        let done = done.map(|name| Some((name.clone(), number_of(item, name)?)));
        Some(Self {
            is_there: true,
            total: Total {
                spent: number_of(item, SPENT)?,
                reserved: number_of(item, RESERVED)?,
            },
            over_us: number_of(item, OVER)?,
            open,
            is_done: item.contains_key(&own(DONE)),
            done: done.collect::<Option<_>>()?,
        })
    }
}

/// What a reservation is written as.
pub(super) struct Setting {
    /// How much less the account had than was known to be spent.
    pub(super) missing: u64,
    /// What must have been seen; `None`: whatever is there, if the cap and what is known allow it.
    seen: Option<Option<Total>>,
    /// Whether the request has its reservation already, or has settled.
    is_known: bool,
    request: String,
    over_us: i64,
}

impl Setting {
    /// Without having seen the account.
    pub(super) fn first(request: &str, over_us: i64) -> Self {
        Self {
            missing: 0,
            seen: None,
            is_known: false,
            request: request.to_owned(),
            over_us,
        }
    }

    /// After it has been seen; `Err` is what it says if nothing has to be written.
    pub(super) fn after(
        request: &str,
        claim: &Claim,
        over_us: i64,
        counts: &Counts,
    ) -> Result<Self, Answer> {
        let Total { spent, reserved } = counts.total;
        let missing = claim.known.saturating_sub(spent);
        let total = Total {
            spent: spent.max(claim.known),
            reserved,
        };
        let is_known = counts.open.is_some() || counts.is_done;
        if is_known && missing == 0 {
            return Err(Answer::Held(Standing { total, missing }));
        }
        let cap = claim.cap.unwrap_or(MOST);
        if !is_known && total.all().saturating_add(claim.amount) > cap {
            return Err(Answer::Refused(total));
        }
        Ok(Self {
            missing,
            seen: (missing > 0 || !counts.is_there)
                .then_some(counts.is_there.then_some(counts.total)),
            is_known,
            request: request.to_owned(),
            over_us,
        })
    }

    pub(super) fn into_change(self, claim: &Claim) -> Update {
        let amount = if self.is_known { 0 } else { claim.amount };
        let mut values = vec![
            (":one", number(1)),
            (":over", number(self.over_us)),
            (":let_go", let_go(self.over_us)),
            (":amount", number(amount)),
        ];
        let mut condition = match self.seen {
            None => {
                // One comparison for both sums: their total is kept beside them.
                let room = claim.cap.unwrap_or(MOST).checked_sub(claim.amount);
                let room = room.and_then(|room| i64::try_from(room).ok()).unwrap_or(-1);
                values.push((":room", number(room)));
                values.push((":known", number(claim.known)));
                "row_format = :one AND all_n <= :room AND spent_n >= :known".to_owned()
            }
            Some(None) => "attribute_not_exists(sk)".to_owned(),
            Some(Some(seen)) => {
                values.push((":seen_spent", number(seen.spent)));
                values.push((":seen_all", number(seen.all())));
                "row_format = :one AND spent_n = :seen_spent AND all_n = :seen_all".to_owned()
            }
        };
        let mut names = Vec::new();
        let mut expression = match self.seen {
            Some(None) => {
                values.push((":spent", number(claim.known)));
                values.push((":all", number(claim.known.saturating_add(amount))));
                "SET spent_n = :spent, all_n = :all, reserved_n = :amount".to_owned()
            }
            _ => {
                values.push((":missing", number(self.missing)));
                values.push((":more", number(self.missing.saturating_add(amount))));
                "SET spent_n = spent_n + :missing, all_n = all_n + :more, \
                 reserved_n = reserved_n + :amount"
                    .to_owned()
            }
        };
        expression.push_str(", row_format = :one, over_us = :over, let_go_s = :let_go");
        if !self.is_known {
            expression.push_str(", #open = :amount");
            condition.push_str(" AND attribute_not_exists(#open) AND attribute_not_exists(#done)");
            names.push(("#open".to_owned(), format!("{OPEN}{}", self.request)));
            names.push(("#done".to_owned(), format!("{DONE}{}", self.request)));
        }
        Update {
            expression,
            condition,
            values,
            names,
        }
    }
}

/// What the end of a request is written as.
pub(super) struct Ending {
    request: String,
    /// What it had set aside.
    open: Option<u64>,
    /// `None`: it is released.
    spent: Option<u64>,
    is_there: bool,
    over_us: i64,
    now_us: i64,
    /// Settled requests that are forgotten by the way.
    forgotten: Vec<String>,
}

impl Ending {
    /// `None`: nothing has to be written.
    pub(super) fn of(
        request: &str,
        spent: Option<u64>,
        over_us: i64,
        counts: &Counts,
        now_us: i64,
    ) -> Option<Self> {
        // One that has settled has nothing set aside any more.
        if counts.is_done || (spent.is_none() && counts.open.is_none()) {
            return None;
        }
        // The latest first.
        let mut done: Vec<_> = counts.done.iter().collect();
        done.sort_unstable_by_key(|(_, at_us)| std::cmp::Reverse(*at_us));
        let old = |(at, (_, at_us)): &(usize, &(String, i64))| {
            *at >= REMEMBERED || later(*at_us, KEPT) < now_us
        };
        let old = done.into_iter().enumerate().filter(old).take(FORGOTTEN);
        Some(Self {
            request: request.to_owned(),
            open: counts.open,
            spent,
            is_there: counts.is_there,
            over_us,
            now_us,
            forgotten: old.map(|(_, (name, _))| name.clone()).collect(),
        })
    }

    pub(super) fn into_change(self) -> Update {
        let (open, spent) = (self.open.unwrap_or(0), self.spent.unwrap_or(0));
        // Amounts are exact in 53 bits.
        let less = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
        let more = less(spent).saturating_sub(less(open));
        let mut values = vec![
            (":one", number(1)),
            (":over", number(self.over_us)),
            (":let_go", let_go(self.over_us)),
            (":spent", number(spent)),
            (":open", number(open)),
            (":more", number(more)),
        ];
        let mut names = vec![("#open".to_owned(), format!("{OPEN}{}", self.request))];
        let (mut condition, mut expression) = match self.is_there {
            true => (
                "row_format = :one".to_owned(),
                "SET spent_n = spent_n + :spent, reserved_n = reserved_n - :open, \
                 all_n = all_n + :more"
                    .to_owned(),
            ),
            // Then nothing is set aside in it either.
            false => (
                "attribute_not_exists(sk)".to_owned(),
                "SET spent_n = :spent, reserved_n = :open, all_n = :more".to_owned(),
            ),
        };
        expression.push_str(", row_format = :one, over_us = :over, let_go_s = :let_go");
        condition.push_str(match self.open {
            Some(_) => " AND #open = :open",
            None => " AND attribute_not_exists(#open)",
        });
        if self.spent.is_some() {
            expression.push_str(", #done = :now");
            condition.push_str(" AND attribute_not_exists(#done)");
            names.push(("#done".to_owned(), format!("{DONE}{}", self.request)));
            values.push((":now", number(self.now_us)));
        }
        let mut removed: Vec<_> = self.open.iter().map(|_| "#open".to_owned()).collect();
        for (at, name) in self.forgotten.into_iter().enumerate() {
            removed.push(format!("#old{at}"));
            names.push((format!("#old{at}"), name));
        }
        if !removed.is_empty() {
            expression.push_str(" REMOVE ");
            expression.push_str(&removed.join(", "));
        }
        Update {
            expression,
            condition,
            values,
            names,
        }
    }
}
