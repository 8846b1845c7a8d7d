#pragma once
#include <string>

#include "schema/value.h"

/// What opens something does not leave the machine: keys, tokens, passwords, contents of Secrets.
namespace porthole::cmd::bundle {

/// `text` with each private key, token, password and credential of a URL replaced by a word that says so. Finds what has the form of one:
/// a password that stands alone is not known for one.
std::string redact_text(std::string text);

/// Takes out of an API object, or a list of them, what may be a secret by its place: contents of Secrets and of ConfigMaps, values of
/// environment variables and of probes' headers, values named as passwords and tokens are, the copy of all that in kubectl's annotation;
/// and managedFields, which say nothing here. Sizes stay. Every other text goes through redact_text().
void redact(schema::Value& object);

}  // namespace porthole::cmd::bundle
