#include "hns/hns.h"

#include "hns/hresult.h"

namespace porthole::hns {

Task<std::vector<Result<std::string>>> Hns::create_all(ObjectKind kind, std::string parent, std::vector<std::string> settings) {
    std::vector<Result<std::string>> made;
    for (std::string& document : settings) {
        auto id = co_await create(kind, parent, std::move(document));
        if (is_cancelled(id)) co_return std::move(id).error();
        made.push_back(std::move(id));
        if (!made.back() && is_disconnected(made.back().error())) break;
    }
    made.resize(settings.size(), made.empty() ? Result<std::string>("") : made.back());
    co_return made;
}

}  // namespace porthole::hns
