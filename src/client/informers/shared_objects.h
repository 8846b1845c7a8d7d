#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "client/informers/informer_codec.h"

namespace porthole::client {

class SharedObject;
class SharedObjectTable;

/// One version of an object as a cache keeps it. Copies share it.
class KeptObject {
public:
    KeptObject() = default;
    explicit KeptObject(InformerCodec::Object object) : kept_(std::move(object)) {}
    explicit KeptObject(std::shared_ptr<SharedObject> shared) : kept_(std::move(shared)) {}

    /// Decodes it if it is packed: keep the result while it is needed, and not longer. Null if there is none, or, which only a defect of
    /// the codec can cause, if it cannot be decoded. Thread-safe.
    InformerCodec::Object get() const;

private:
    std::variant<InformerCodec::Object, std::shared_ptr<SharedObject>> kept_;
};

/// A version of an object that a server has sent.
struct KeptVersion {
    KeptObject object;
    NamespacedName key;
    std::string resource_version;
};

/// Objects shared by the informers of one process: each version of an object is decoded and stored once, no matter how many components
/// follow its kind, and on which loops. Thread-safe; does not keep objects alive.
///
/// Pods, of which a cluster has the most by far, are decoded only while they are in use: those that were not read for the longest time are
/// packed, as the differences of their JSON from that of a similar pod (store/value_packer.h), a twentieth of their size. Reading one
/// decodes it again. One that a component holds stays decoded, because packing it would free nothing; so does one that would not be equal
/// after it was packed. A component should not look at all pods again and again: it finds those that it needs by an index.
class SharedObjects {
public:
    /// How much of pods stays decoded, as bytes of their JSON without managedFields. Decoded, they take some 2.7 times that. A controller
    /// reads all pods of a set or a service after a change of one; while more are read in turn than this, each is decoded each time.
    static constexpr std::size_t DecodedJson = 48 << 20;

    explicit SharedObjects(std::size_t decoded_json = DecodedJson);
    ~SharedObjects();

    /// As `codec.decode(json)`; the object may be one that another informer has decoded.
    Result<KeptVersion> decode(const InformerCodec& codec, std::string_view json);
    /// Number of objects that are alive.
    std::size_t size() const;
    /// Bytes of JSON of the pods that are decoded and may be packed.
    std::size_t decoded_json() const;
    /// How often a packed object was decoded again.
    std::uint64_t times_unpacked() const;

private:
    std::shared_ptr<SharedObjectTable> table_;  ///< lives as long as this or one of its objects
};

}  // namespace porthole::client
