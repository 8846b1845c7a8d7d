// Whatever someone has written into etcd: a gap for the revision is found in it or not, and is one when it is.
#include <cstdlib>

#include "apiserver/etcd_form/etcd_keys.h"
#include "apiserver/etcd_form/revision_gap.h"

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
    if (const auto key = key_of_etcd(bytes); key && etcd_key_of(*key) != bytes) std::abort();
    return 0;
}
