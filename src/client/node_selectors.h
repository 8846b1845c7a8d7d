#pragma once
#include "api/core_v1.h"

namespace porthole::client {

/// Whether the term holds for the node. One without requirements holds for none.
bool matches(const api::core::v1::NodeSelectorTerm& term, const api::core::v1::Node& node);
/// Whether any of its terms does.
bool matches(const api::core::v1::NodeSelector& selector, const api::core::v1::Node& node);

}  // namespace porthole::client
