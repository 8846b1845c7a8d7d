#pragma once
#include <string>

#include "schema/value.h"

/// Removes secrets before data leave the machine: keys, tokens, passwords, contents of Secrets.
namespace porthole::cmd::bundle {

/// `text` with each private key, token, password and credential of a URL replaced by a remark. Recognizes them by their form: a password
/// without context is not recognized.
std::string redact_text(std::string text);

/// Removes possible secrets from an API object, or a list of them, by their place: contents of Secrets and of ConfigMaps, values of
/// environment variables and of probes' headers, values with names of passwords and tokens, and their copies in kubectl's annotation; also
/// managedFields, which are not useful here. Sizes are kept. All other texts go through redact_text().
void redact(schema::Value& object);

}  // namespace porthole::cmd::bundle
