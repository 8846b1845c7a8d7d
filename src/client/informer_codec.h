#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "client/client.h"

namespace porthole::client {

/// How an informer reads one object of its kind.
struct InformerCodec {
    using Object = std::shared_ptr<const void>;
    struct Decoded {
        Object object;
        NamespacedName key;
        std::string resource_version;
    };
    using Decode = Result<Decoded> (*)(std::string_view json);

    const schema::Kind& kind;
    bool metadata_only = false;
    Decode decode;
};

}  // namespace porthole::client
