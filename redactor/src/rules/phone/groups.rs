//! The digits of a number as they stand together.

/// No head that is asked takes more groups.
const MOST: usize = 16;

/// The groups of digits of a number, in order.
pub(super) struct Groups<'t> {
    groups: [&'t str; MOST],
    count: usize,
}

impl<'t> Groups<'t> {
    pub(super) fn of(number: &'t str) -> Self {
        let (mut groups, mut count) = ([""; MOST], 0);
        let parts = number.split(|c: char| !c.is_ascii_digit());
        let own = parts.filter(|group| !group.is_empty());
        for (slot, group) in groups.iter_mut().zip(own) {
            *slot = group;
            count += 1;
        }
        Self { groups, count }
    }

    pub(super) fn all(&self) -> &[&'t str] {
        self.groups.get(..self.count).unwrap_or_default()
    }
}
