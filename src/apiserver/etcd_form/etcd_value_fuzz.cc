// Whatever someone has written into etcd: a gap for the revision is found in it or not, and is one when it is; what is not unreadable can
// be a part of a list.
#include <cstdlib>

#include "apiserver/encryption/encrypting_engine.h"
#include "apiserver/etcd_form/data_version.h"
#include "apiserver/etcd_form/etcd_form.h"
#include "apiserver/etcd_form/etcd_keys.h"
#include "apiserver/etcd_form/revision_gap.h"
#include "schema/json/json.h"

using namespace porthole::apiserver;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    std::string text(bytes);
    if (const auto gap = open_revision_gap(text)) {
        if (*gap == 0 || *gap >= text.size() || text[*gap - 1] != '"' || text[*gap] != '"') std::abort();
        std::string again = text;
        if (open_revision_gap(again) != gap || again != text) std::abort();
    } else if (text != bytes) {
        std::abort();
    }
    static const auto form = make_etcd_form(std::make_shared<StorageEncryption>(MakeKmsCipher()), "/registry");
    for (const char* object :
         {"/registry/core/pods/ns/a", "/registry/example.com/widgets/ns/a", "/registry/apiextensions.k8s.io/customresourcedefinitions/a"}) {
        const auto value = form->open(object, std::string(bytes));
        if (!is_unreadable(value.bytes) && !porthole::schema::parse_json(value.bytes, {.depth = 2 * porthole::schema::MaxTreeDepth}))
            std::abort();
    }
    if (const auto key = key_of_etcd(bytes); key && etcd_key_of(*key) != bytes) std::abort();
    if (check_data_version(bytes) && bytes.find_first_not_of("0123456789") != bytes.npos) std::abort();
    return 0;
}
