#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/convert.h"
#include "schema/registry.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

/// A struct as a bare protobuf message, as in gRPC, or inside an envelope.
std::string encode_protobuf(const Type& type, const void* object);
/// Unknown fields are skipped. A RawExtension may contain an enveloped object: `registry` must then know its kind. Errors: BadRequest.
Result<void> decode_protobuf(const Type& type, void* object, std::string_view bytes, const Registry* registry = nullptr);

template <class T>
std::string encode_protobuf(const T& object) {
    return encode_protobuf(T::schema_type(), &object);
}
template <class T>
Result<T> decode_protobuf(std::string_view bytes, const Registry* registry = nullptr) {
    T object;
    TRY_VOID(decode_protobuf(T::schema_type(), &object, bytes, registry));
    return object;
}

/// The beginning of a field of a message: `size` bytes follow.
void append_field_head(std::uint32_t number, std::size_t size, std::string& out);

/// Kubernetes' envelope of a message: "k8s\0" and a runtime.Unknown.
struct Envelope {
    std::string api_version, kind;
    std::string raw;  ///< the message
    std::string content_encoding, content_type;
};
/// Whether the bytes begin with "k8s\0".
bool has_envelope(std::string_view bytes);
/// What stands before a message of `size` bytes.
std::string envelope_head(std::string_view api_version, std::string_view kind, std::size_t size);
std::string seal_envelope(std::string_view api_version, std::string_view kind, std::string_view raw);
/// Error: BadRequest.
Result<Envelope> open_envelope(std::string_view bytes);

/// An object in its envelope, from a struct or a tree of a built-in kind, and the reverse to a tree with apiVersion and kind. Errors:
/// BadRequest, also for a kind that `registry` does not have.
std::string encode_enveloped(const Kind& kind, const void* object);
Result<std::string> encode_enveloped(const Kind& kind, const Value& value);
Result<Value> decode_enveloped(const Registry& registry, std::string_view bytes);

}  // namespace porthole::schema
