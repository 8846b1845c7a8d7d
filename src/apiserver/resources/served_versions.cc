#include "apiserver/resources/served_versions.h"

#include "apiserver/resources/object_codec.h"
#include "apiserver/resources/version_converter.h"
#include "schema/fields/fields.h"

namespace porthole::apiserver {

std::vector<const schema::Kind*> ServedVersions::served(const schema::Kind& stored) const { return resources_.served_as(stored); }

Task<ApiObject> ServedVersions::convert(ApiObject object, const schema::Kind& to) const {
    if (&object.kind() == &to) co_return object;
    const auto from = resources_.find(object.kind().group, object.kind().version, object.kind().plural);
    const auto target = resources_.find(to.group, to.version, to.plural);
    if (target && target->form != 0) {
        schema::Value tree = std::move(object.edit_tree());
        if (target->converter) {
            CO_TRY(tree, co_await target->converter->object(std::move(tree), to.api_version()));
        }
        co_return ApiObject(to, target->conversion.from_stored(std::move(tree)));
    }
    if (from) object = to_stored(*from, std::move(object));
    if (target) object = to_served(*target, std::move(object));
    co_return object;
}

void ServedVersions::set_defaults(ApiObject& object) const {
    const auto resource = resources_.find(object.kind().group, object.kind().version, object.kind().plural);
    if (!resource || resource->stored != &object.kind()) return;
    schema::apply_table_defaults(object.edit_tree(), *resource->stored->type);
    if (resource->strategy->set_defaults) resource->strategy->set_defaults(object);
}

}  // namespace porthole::apiserver
