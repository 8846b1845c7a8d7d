#pragma once
#include <memory>
#include <string>

#include "base/log.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/server/server_flags.h"
#include "node_join/shared_secrets/secrets_agreement.h"

namespace porthole::cmd {

/// The token in a file of --server-token-file, without the line break at its end. Errors, each naming the flag: Io; BadRequest for what is
/// not one word of printable characters, or could be guessed.
Result<std::string> read_server_token(const std::string& path);

/// Makes the data directory's authorities and keys those of the servers that share its etcd, before anything uses them. Null where there
/// is nothing to share. `world` outlives what it yields. Errors: those of flags, and SecretsAgreement::agree().
Task<std::unique_ptr<node_join::SecretsAgreement>> agree_on_secrets(RealWorld& world, ServerFlags flags, Logger log);

}  // namespace porthole::cmd
