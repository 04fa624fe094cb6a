//! The forward pass.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rten::{ModelOptions, NodeId, RunOptions, ThreadPool};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};

use super::windows::Batch;

/// What of the network's labels is read. The others belong to rules, which check digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Building,
    City,
    Given,
    Secondary,
    State,
    Street,
    Surname,
    Zip,
}

pub(super) const CLASSES: usize = 8;

impl Class {
    /// The class of a label such as `B-GIVEN_NAME`.
    pub(super) fn named(label: &str) -> Option<Class> {
        let name = label.strip_prefix("B-").or(label.strip_prefix("I-"))?;
        Some(match name {
            "BUILDING_NUMBER" => Class::Building,
            "CITY" => Class::City,
            "GIVEN_NAME" => Class::Given,
            "SECONDARY_ADDRESS" => Class::Secondary,
            "STATE" => Class::State,
            "STREET_NAME" => Class::Street,
            "SURNAME" => Class::Surname,
            "ZIP_CODE" => Class::Zip,
            _ => return None,
        })
    }
}

/// How likely one piece is of each class, by the class's number.
pub(super) type Chances = [f32; CLASSES];
/// The chances of a window's pieces, in their order.
pub(super) type Numbers = Vec<Chances>;

/// What the network says about a batch.
pub struct Scores(Vec<(usize, Numbers)>);

impl Scores {
    /// The windows of the batch and what was said about each.
    pub(super) fn rows(&self) -> impl Iterator<Item = &(usize, Numbers)> {
        self.0.iter()
    }

    #[cfg(test)]
    pub(super) fn of(rows: Vec<(usize, Numbers)>) -> Self {
        Self(rows)
    }
}

/// One thread that runs batches. The network would otherwise take all threads of the machine.
pub struct Lane(Arc<ThreadPool>);

impl Lane {
    /// Starts the thread.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(ThreadPool::with_num_threads(1)))
    }
}

impl Default for Lane {
    fn default() -> Self {
        Self::new()
    }
}

pub(super) struct Network {
    model: rten::Model,
    inputs: [NodeId; 3],
    output: NodeId,
    columns: Vec<Option<Class>>,
}

impl Network {
    pub(super) fn load(bytes: Vec<u8>, columns: Vec<Option<Class>>) -> Option<Self> {
        let load = || {
            let model = ModelOptions::with_all_ops().load(bytes).ok()?;
            let node = |name| model.find_node(name);
            let inputs = [
                node("input_ids")?,
                node("attention_mask")?,
                node("token_type_ids")?,
            ];
            let output = node("logits")?;
            Some((model, inputs, output))
        };
        let (model, inputs, output) = catch_unwind(AssertUnwindSafe(load)).ok()??;
        Some(Self {
            model,
            inputs,
            output,
            columns,
        })
    }

    /// `None` if it failed or panicked, or answers in another form than it should.
    pub(super) fn run(&self, batch: &Batch, lane: &Lane) -> Option<Scores> {
        let run = || self.forward(batch, lane);
        catch_unwind(AssertUnwindSafe(run)).ok()?
    }

    fn forward(&self, batch: &Batch, lane: &Lane) -> Option<Scores> {
        let (rows, longest) = (batch.rows.len(), batch.longest());
        let mut ids = vec![0_i32; rows * longest];
        let mut mask = ids.clone();
        let types = ids.clone();
        for (row, (_, own)) in batch.rows.iter().enumerate() {
            let from = row * longest;
            ids.get_mut(from..from + own.len())?.copy_from_slice(own);
            mask.get_mut(from..from + own.len())?.fill(1);
        }
        let shape = [rows, longest];
        let [ids_at, mask_at, types_at] = self.inputs;
        let inputs = vec![
            (ids_at, NdTensor::from_data(shape, ids).into()),
            (mask_at, NdTensor::from_data(shape, mask).into()),
            (types_at, NdTensor::from_data(shape, types).into()),
        ];
        let mut options = RunOptions::default();
        options.thread_pool = Some(Arc::clone(&lane.0));
        let [logits] = self
            .model
            .run_n(inputs, [self.output], Some(options))
            .ok()?;
        let logits: NdTensor<f32, 3> = logits.try_into().ok()?;
        if logits.shape() != [rows, longest, self.columns.len()] {
            return None;
        }
        let scores = batch.rows.iter().enumerate().map(|(row, (window, own))| {
            let pieces = (0..own.len()).map(|at| self.chances(logits.slice((row, at))));
            Some((*window, pieces.collect::<Option<Numbers>>()?))
        });
        scores.collect::<Option<Vec<_>>>().map(Scores)
    }

    /// The softmax of one piece's logits, begun and continued labels added.
    fn chances(&self, logits: NdTensorView<'_, f32, 1>) -> Option<Chances> {
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut chances = [0.0; CLASSES];
        let mut sum = 0.0;
        for (logit, class) in logits.iter().zip(&self.columns) {
            let weight = (logit - largest).exp();
            sum += weight;
            if let Some(class) = class {
                *chances.get_mut(*class as usize)? += weight;
            }
        }
        // NaN where the weights overflowed: no verdict is better than a wrong one.
        if !(sum.is_finite() && sum > 0.0) {
            return None;
        }
        Some(chances.map(|weight| weight / sum))
    }
}
