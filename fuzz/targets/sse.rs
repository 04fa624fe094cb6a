//! The reader of server-sent events: cut anywhere, the same stream gives the same events; no event
//! is over the cap; what is written is read back.
#![no_main]

use gatehouse::wire::sse::{Event, Item, Reader, write};
use libfuzzer_sys::fuzz_target;

const CAP: usize = 256;

fuzz_target!(|input: (Vec<u8>, &[u8])| {
    let (cuts, stream) = input;
    let whole = read([stream].into_iter());
    assert!(whole == read(pieces(stream, &cuts).into_iter()));
    assert!(whole == read(stream.chunks(1)));
    for event in events(&whole.0) {
        assert!(event.data.len() <= CAP);
        // The writer has no place for a CR, nor the reader a way to give one out.
        assert!(!event.data.contains(&b'\r'));
        let again = read([write(event.name.as_deref(), &event.data).as_ref()].into_iter());
        let read_back = events(&again.0).any(|other| other == event);
        assert!(read_back || again.1, "not read back");
    }
});

/// Items in order, and whether the reader gave up.
fn read<'s>(chunks: impl Iterator<Item = &'s [u8]>) -> (Vec<Item>, bool) {
    let (mut reader, mut items, mut failed) = (Reader::new(CAP), Vec::new(), false);
    for chunk in chunks {
        failed = reader.push(chunk).is_err();
        while let Some(item) = reader.pop() {
            items.push(item);
        }
        if failed {
            return (items, failed);
        }
    }
    items.extend(reader.finish().map(Item::Event));
    (items, failed)
}

fn events(items: &[Item]) -> impl Iterator<Item = &Event> {
    items.iter().filter_map(|item| match item {
        Item::Comment => None,
        Item::Event(event) => Some(event),
    })
}

fn pieces<'s>(mut stream: &'s [u8], cuts: &[u8]) -> Vec<&'s [u8]> {
    let mut pieces = Vec::new();
    for cut in cuts {
        let (piece, rest) = stream.split_at(usize::from(*cut).min(stream.len()));
        pieces.push(piece);
        stream = rest;
    }
    pieces.push(stream);
    pieces
}
