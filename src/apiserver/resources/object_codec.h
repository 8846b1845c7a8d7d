#pragma once
#include <string>

#include "apiserver/request/api_object.h"
#include "apiserver/resources/resource.h"
#include "store/transaction.h"

namespace porthole::apiserver {

/// The write of an object under `key`: its JSON with a gap for the revision, and its attributes.
store::Put put_of(const Resource& resource, std::string key, ApiObject object);

/// The object that stored bytes hold, in the stored version. Error: InternalError for bytes that are not what was written.
Result<ApiObject> stored_object(const Resource& resource, const store::Record& record);

/// Between the served and the stored version.
ApiObject to_stored(const Resource& resource, ApiObject object);
ApiObject to_served(const Resource& resource, ApiObject object);

/// Bytes as `resource`'s version shows them: the same where that is what is stored.
store::Bytes served_bytes(const Resource& resource, store::Bytes stored);
inline store::Bytes bytes_of(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

}  // namespace porthole::apiserver
