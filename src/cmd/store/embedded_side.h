#pragma once
#include <filesystem>

#include "apiserver/migration/etcd_transfer.h"

/// The state of a cluster in its data directory, for commands. All calls block.
namespace porthole::cmd {

/// Requires: no one writes it meanwhile. Errors: NotFound, Io, those of TransferForm::plain().
Result<apiserver::StoreState> read_embedded_state(const std::filesystem::path& store, const apiserver::TransferForm& form);

/// Makes a store with the rows of `state`, as their revisions are, reads it again, and compares. `store` is made again: what was there is
/// removed. Revisions go on after state.revision; what was before it has expired. Errors: Io, those of TransferForm::plain().
Result<void> make_embedded_store(const std::filesystem::path& store, const apiserver::StoreState& state,
                                 const apiserver::TransferForm& form);

}  // namespace porthole::cmd
