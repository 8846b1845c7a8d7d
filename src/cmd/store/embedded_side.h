#pragma once
#include <filesystem>

#include "apiserver/migration/etcd_transfer.h"

/// The state of a cluster in its data directory, for commands. All calls block.
namespace porthole::cmd {

/// Requires: no process writes to it. Errors: NotFound, Io, those of TransferForm::plain().
Result<apiserver::StoreState> read_embedded_state(const std::filesystem::path& store, const apiserver::TransferForm& form);

/// Creates a store with the rows of `state`, keeping their revisions, reads it, and compares. An existing `store` is replaced. Revisions
/// continue after state.revision; earlier ones have expired. Errors: Io, those of TransferForm::plain().
Result<void> make_embedded_store(const std::filesystem::path& store, const apiserver::StoreState& state,
                                 const apiserver::TransferForm& form);

}  // namespace porthole::cmd
