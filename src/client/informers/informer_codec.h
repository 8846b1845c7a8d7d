#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "client/client.h"

namespace porthole::client {

/// How an informer decodes an object of its kind.
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
    const schema::Type* type = nullptr;  ///< of the struct that Object points to; null if it is none of the schema: it is never packed then
};

}  // namespace porthole::client
