#include "apiserver/resources/encode_tree.h"

#include "api/registry.h"
#include "schema/json/json.h"
#include "schema/protobuf/protobuf.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {

std::string encode_tree(const schema::Value& tree, OutputForm& form) {
    if (form.encoding == Encoding::Protobuf) {
        const schema::Kind* kind = api::registry().find_kind(tree.string_at({"apiVersion"}), tree.string_at({"kind"}));
        if (kind) {
            if (auto sealed = schema::encode_enveloped(*kind, tree)) return std::move(*sealed);
        }
        form.encoding = Encoding::Json;
    }
    if (form.encoding == Encoding::Yaml) return schema::to_yaml(tree);
    return (form.pretty ? schema::to_pretty_json(tree, 2) : schema::to_json(tree)) + "\n";
}

}  // namespace porthole::apiserver
