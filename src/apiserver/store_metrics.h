#pragma once
#include <string>

#include "apiserver/resources/resource.h"
#include "store/store.h"

namespace porthole::apiserver {

/// Appends the store's metrics: objects by resource, its revision, sizes in bytes and its quota.
void append_store_metrics(const store::Store& store, const ResourceTable& resources, std::string& out);

}  // namespace porthole::apiserver
