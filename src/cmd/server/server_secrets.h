#pragma once
#include <memory>
#include <string>

#include "base/log.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/server/server_flags.h"
#include "node_join/shared_secrets/secrets_agreement.h"

namespace porthole::cmd {

/// The token in a file of --server-token-file, without the line break at its end. Errors, each with the flag's name: Io; BadRequest if it
/// is not one word of printable characters, or too easy to guess.
Result<std::string> read_server_token(const std::string& path);

/// Replaces the data directory's authorities and keys by those of the servers that share its etcd, before anything uses them. Null if
/// nothing is shared. `world` outlives the result. Errors: those of flags, and SecretsAgreement::agree().
Task<std::unique_ptr<node_join::SecretsAgreement>> agree_on_secrets(RealWorld& world, ServerFlags flags, Logger log);

}  // namespace porthole::cmd
