#pragma once
#include <map>
#include <string>

#include "api/meta_v1.h"
#include "schema/box.h"

namespace porthole::objects {

using Labels = std::map<std::string, std::string>;

/// Whether every pair of `wanted` is in `labels`; true if `wanted` is empty. Services select by this.
bool contains_all(const Labels& labels, const Labels& wanted);

/// Whether `labels` match the selector. An empty one selects everything; one with an unknown operator nothing.
bool matches(const api::meta::v1::LabelSelector& selector, const Labels& labels);
/// An absent selector selects nothing.
bool matches(const schema::Box<api::meta::v1::LabelSelector>& selector, const Labels& labels);

/// True if the selector has no requirements.
bool selects_everything(const api::meta::v1::LabelSelector& selector);

/// The form for a query: "a=b,c in (d,e),!f".
std::string to_query(const api::meta::v1::LabelSelector& selector);

}  // namespace porthole::objects
