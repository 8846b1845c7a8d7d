#pragma once
#include <string>

#include "apiserver/request/negotiation.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// A tree in one of the encodings; for answers that are not stored objects, such as a Status. Trees of kinds without a protobuf form are
/// sent as JSON; `form` is then changed to that.
std::string encode_tree(const schema::Value& tree, OutputForm& form);

}  // namespace porthole::apiserver
