//! What is said in the demo. Every value is made up: published test numbers, reserved domains.

use serde_json::{Value, json};

/// What the agent puts in front of the provider in one request.
pub(super) struct Turn {
    /// A heading for people.
    pub(super) title: &'static str,
    /// The message that this turn adds.
    pub(super) message: Message,
    /// The tools on offer.
    pub(super) tools: Value,
    /// Whether the reply is streamed.
    pub(super) stream: bool,
}

/// A message of the agent's.
pub(super) enum Message {
    /// What the customer wrote.
    Customer(&'static str),
    /// What the tool returned that the model called last.
    Tool(&'static str),
}

impl Message {
    pub(super) fn text(&self) -> &'static str {
        match self {
            Message::Customer(text) | Message::Tool(text) => text,
        }
    }
}

/// The system prompt.
pub(super) const SYSTEM: &str = "You are the support agent of a small shop. Be brief.";

/// A value that must not leave, and how the gateway calls it.
pub(super) struct Private {
    pub(super) value: &'static str,
    pub(super) label: &'static str,
}

/// Everything in the conversation that must not leave.
pub(super) const PRIVATE: [Private; 6] = [
    Private {
        value: NAME,
        label: "PERSON",
    },
    Private {
        value: "ada@example.org",
        label: "EMAIL",
    },
    Private {
        value: "+44 20 7946 0018",
        label: "PHONE",
    },
    Private {
        value: "4111 1111 1111 1111",
        label: "CREDIT_CARD",
    },
    Private {
        value: "GB82 WEST 1234 5698 7654 32",
        label: "IBAN",
    },
    Private {
        value: concat!("sk_", "live_", "4eC39HqLyjWDarjtT1zdp7dc"),
        label: "API_KEY",
    },
];

/// The name, which the policy's dictionary knows.
pub(super) const NAME: &str = "Ada Lovelace";

/// The conversation, in order.
pub(super) fn turns() -> [Turn; 4] {
    [
        Turn {
            title: "The customer writes",
            message: Message::Customer(
                "Hello, Ada Lovelace here. My parcel never came. Mail ada@example.org or call \
                 +44 20 7946 0018. I paid with card 4111 1111 1111 1111.",
            ),
            tools: find_order(),
            stream: false,
        },
        Turn {
            title: "The tool answers, and says more than it should",
            message: Message::Tool(concat!(
                r#"{"customer": "Ada Lovelace", "status": "lost", "#,
                r#""refund_to": "GB82 WEST 1234 5698 7654 32", "#,
                r#""api_key": "sk_"#,
                r#"live_4eC39HqLyjWDarjtT1zdp7dc"}"#,
            )),
            tools: find_order(),
            stream: true,
        },
        Turn {
            title: "The customer agrees",
            message: Message::Customer(
                "Yes, refund it to GB82 WEST 1234 5698 7654 32 and mail the receipt to \
                 ada@example.org. Thanks, Ada Lovelace",
            ),
            tools: refund(),
            stream: true,
        },
        Turn {
            title: "The tool has done it",
            message: Message::Tool("Refunded to GB82 WEST 1234 5698 7654 32."),
            tools: refund(),
            stream: false,
        },
    ]
}

fn find_order() -> Value {
    tool("find_order", &["email", "phone", "card_number"])
}

fn refund() -> Value {
    tool("refund", &["iban", "receipt_to_email"])
}

fn tool(name: &str, parameters: &[&str]) -> Value {
    let properties: serde_json::Map<String, Value> = parameters
        .iter()
        .map(|name| ((*name).to_owned(), json!({ "type": "string" })))
        .collect();
    let schema = json!({ "type": "object", "properties": properties, "required": parameters });
    json!([{ "type": "function", "function": { "name": name, "parameters": schema } }])
}
