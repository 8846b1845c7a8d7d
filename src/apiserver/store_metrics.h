#pragma once
#include <string>

#include "apiserver/resources/resource.h"
#include "store/store.h"

namespace porthole::apiserver {

/// Appends what the store holds, as metrics: objects by resource, its revision, sizes in bytes and its quota.
void append_store_metrics(const store::Store& store, const ResourceTable& resources, std::string& out);

}  // namespace porthole::apiserver
