#pragma once
#include <string>

#include "api/core_v1.h"
#include "objects/selectors.h"

namespace porthole::objects {

/// Whether the term matches a node with these labels and this name. A term without requirements matches no node.
bool matches(const api::core::v1::NodeSelectorTerm& term, const Labels& labels, const std::string& name);
bool matches(const api::core::v1::NodeSelectorTerm& term, const api::core::v1::Node& node);
/// Whether any of its terms matches.
bool matches(const api::core::v1::NodeSelector& selector, const Labels& labels, const std::string& name);
bool matches(const api::core::v1::NodeSelector& selector, const api::core::v1::Node& node);

/// Whether spec.nodeSelector and the required node affinity allow the pod on a node with these labels and this name.
bool accepts_node(const api::core::v1::PodSpec& spec, const Labels& labels, const std::string& name);

}  // namespace porthole::objects
