#pragma once  // private to this folder
#include <string>
#include <vector>

#include "base/result.h"
#include "winhost/images/content/image.h"

namespace porthole::winhost {

/// The store's record of an image, except for its layers.
struct ImageRecord {
    std::string id;
    std::string config_text;  ///< unchanged
    std::vector<std::string> tags, digests;
    std::uint64_t size = 0;
    bool base_substituted = false;
    std::vector<std::string> layers;  ///< keys, topmost first
};

/// The file `images.json`: which template its layers were laid out for, and the images.
struct ImageRecords {
    std::string template_id;
    std::vector<ImageRecord> images;

    std::string to_text() const;
    /// Error: Invalid.
    static Result<ImageRecords> parse(const std::string& text);
};

}  // namespace porthole::winhost
