//! The thread that talks to S3: its client is asynchronous, and the log's threads are not.

use std::{
    io,
    sync::mpsc::{self, Receiver},
};

use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

use crate::store::StoreError;

/// Runs what it is given until it is dropped. One thread is enough: all that it does is wait.
pub(super) struct Thread {
    handle: Handle,
    /// The thread ends with it.
    _stop: oneshot::Sender<()>,
}

impl Thread {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        std::thread::Builder::new()
            .name("ledger-s3".into())
            // Whether it was told to stop or forgotten: nobody is left who could ask for anything.
            .spawn(move || drop(runtime.block_on(stopped)))?;
        Ok(Self {
            handle,
            _stop: stop,
        })
    }

    /// Begins something and gives back where its outcome will arrive.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Receiver<T> {
        let (tell, told) = mpsc::sync_channel(1);
        // Nobody may be waiting any more, which is no concern of the work's.
        self.handle
            .spawn(async move { drop(tell.send(work.await)) });
        told
    }

    /// Does something and waits for it.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        outcome(&self.begin(work))
    }
}

/// What arrives; an error if the thread is gone.
pub(super) fn outcome<T>(told: &Receiver<Result<T, StoreError>>) -> Result<T, StoreError> {
    told.recv()
        .unwrap_or_else(|_| Err(io::Error::other("the thread that talks to S3 has ended").into()))
}
