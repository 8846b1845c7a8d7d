#include "client/informers/shared_objects.h"

#include "client/informers/shared_object_table.h"
#include "client/json_slices.h"

namespace porthole::client {
namespace {

using Object = InformerCodec::Object;

/// What tells versions of objects apart, from the head of their JSON. Names, uids and versions need no escapes.
struct Identity {
    std::string_view namespace_, name, uid, version;
};

Result<Identity> identity_of(std::string_view json) {
    TRY(const std::string_view metadata, json_member(json, "metadata"));
    const auto text = [&](std::string_view key) -> Result<std::string_view> {
        TRY(const std::string_view slice, json_member(metadata, key));
        return json_plain_string(slice);
    };
    Identity identity;
    TRY(identity.namespace_, text("namespace"));
    TRY(identity.name, text("name"));
    TRY(identity.uid, text("uid"));
    TRY(identity.version, text("resourceVersion"));
    return identity;
}

/// Controllers look at all objects of some kinds again and again, and of none are there as many as pods.
bool is_packed(const InformerCodec& codec) { return codec.type && codec.kind.group.empty() && codec.kind.plural == "pods"; }

}  // namespace

Object KeptObject::get() const {
    if (const Object* object = std::get_if<Object>(&kept_)) return *object;
    return std::get<std::shared_ptr<SharedObject>>(kept_)->get();
}

SharedObjects::SharedObjects(std::size_t decoded_json) : table_(std::make_shared<SharedObjectTable>(decoded_json)) {}
SharedObjects::~SharedObjects() = default;

std::size_t SharedObjects::size() const { return table_->size(); }
std::size_t SharedObjects::decoded_json() const { return table_->decoded_json(); }
std::uint64_t SharedObjects::times_unpacked() const { return table_->times_unpacked(); }

Result<KeptVersion> SharedObjects::decode(const InformerCodec& codec, std::string_view json) {
    const auto identity = identity_of(json);
    const bool has_identity = identity && !identity->uid.empty() && !identity->version.empty();
    std::string key(reinterpret_cast<const char*>(&codec.decode), sizeof codec.decode);
    if (has_identity) {
        key.append(identity->uid).append("/").append(identity->version);
        if (auto present = table_->find(key)) {
            return KeptVersion{KeptObject(std::move(present)),
                               NamespacedName{std::string(identity->namespace_), std::string(identity->name)},
                               std::string(identity->version)};
        }
    }
    std::string room;
    const std::string_view bare = without_managed_fields(json, room);
    TRY(InformerCodec::Decoded decoded, codec.decode(bare));
    KeptObject kept(decoded.object);
    if (has_identity) {
        kept = KeptObject(table_->keep(std::make_shared<SharedObject>(
            table_, std::move(key), codec.decode, is_packed(codec) ? codec.type : nullptr, bare.size(), std::move(decoded.object))));
        table_->pack_unused();
    }
    return KeptVersion{std::move(kept), std::move(decoded.key), std::move(decoded.resource_version)};
}

}  // namespace porthole::client
