#pragma once
#include <string>

#include "apiserver/encryption/encrypting_engine.h"
#include "apiserver/resources/resource.h"
#include "apiserver/validation/api_object.h"
#include "store/transaction.h"

namespace porthole::apiserver {

/// The write of an object under `key`: its JSON with a gap for the revision, and its attributes.
store::Put put_of(const Resource& resource, std::string key, ApiObject object);

/// Limits of stored objects, so that every reader can read them: less nested than readers' limit, with room for the lists and events around
/// them, and as large as the requests that upstream's store accepts (1.5 MiB).
inline constexpr std::size_t MaxObjectDepth = 256;
inline constexpr std::size_t MaxObjectBytes = 3 << 19;

/// The same write if it is within the limits above. An object that already exceeds them may keep its size, so that it can be repaired and
/// its finalizers removed: `present` is its record. Errors: RequestEntityTooLarge, BadRequest for the depth.
Result<store::Put> limited_put_of(const Resource& resource, std::string key, ApiObject object, const store::Record* present);

/// The object in stored bytes, in the stored version. Error: InternalError for bytes that cannot be decoded or decrypted.
Result<ApiObject> stored_object(const Resource& resource, const store::Record& record);

/// A custom resource's record in the form of `resource`: converted from its stored version, pruned and with defaults by the current schema.
/// The record itself if nothing changes, as for every built-in kind; the result is cached with the record.
store::RecordPtr present_record(const Resource& resource, store::RecordPtr record);
/// The same for its bytes alone.
store::Bytes present_bytes(const Resource& resource, const store::Record& record);
std::string present_text(const Resource& resource, std::string stored);
/// Whether the record was written in another version, so that a write of the same object would change what is stored.
bool is_in_old_version(const Resource& resource, const store::Record& record);

/// InternalError with upstream's message, if the record's value cannot be decrypted.
Result<void> ensure_decrypted(const store::Record& record);

/// Between the served and the stored version.
ApiObject to_stored(const Resource& resource, ApiObject object);
ApiObject to_served(const Resource& resource, ApiObject object);

/// Bytes in `resource`'s version: the same if that is the stored one.
store::Bytes served_bytes(const Resource& resource, store::Bytes stored);
inline store::Bytes bytes_of(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

}  // namespace porthole::apiserver
