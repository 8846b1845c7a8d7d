#pragma once
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "cmd/bundle/writer.h"

namespace porthole::cmd::bundle {

/// An archive in a temporary directory, and its content for a reader.
struct ArchiveFixture : testing::Test {
    ArchiveFixture() {
        auto made = Archive::create(path, Timestamp::from_seconds(1'800'000'000));
        EXPECT_TRUE(made) << made.error().message;
        archive.emplace(std::move(*made));
        writer.emplace(*archive);
    }
    ~ArchiveFixture() override { std::filesystem::remove_all(folder); }

    /// Content by name, as a reader of ustar sees it. Closes the archive.
    std::map<std::string, std::string> entries() {
        EXPECT_TRUE(archive->close());
        const std::string bytes = unpacked();
        std::map<std::string, std::string> found;
        std::size_t at = 0;
        while (at + 512 <= bytes.size() && bytes[at] != '\0') {
            EXPECT_EQ(bytes.substr(at + 257, 5), "ustar");
            const std::string prefix = text_at(bytes, at + 345, 155), name = text_at(bytes, at, 100);
            const std::size_t size = std::stoul(text_at(bytes, at + 124, 12), nullptr, 8);
            found[prefix.empty() ? name : prefix + "/" + name] = bytes.substr(at + 512, size);
            at += 512 + (size + 511) / 512 * 512;
        }
        EXPECT_EQ(bytes.size() - at, 1024u) << "two empty blocks end it";
        return found;
    }

    static std::string make_folder() {
        std::string name = testing::TempDir() + "/bundle-XXXXXX";
        return ::mkdtemp(name.data());
    }

    const std::string folder = make_folder(), path = folder + "/bundle.tar.gz";
    std::optional<Archive> archive;
    std::optional<Writer> writer;

private:
    std::string unpacked() const {
        const gzFile file = gzopen(path.c_str(), "rb");
        std::string bytes, piece(1 << 20, '\0');
        for (int read; (read = gzread(file, piece.data(), static_cast<unsigned>(piece.size()))) > 0;)
            bytes.append(piece, 0, static_cast<std::size_t>(read));
        gzclose(file);
        return bytes;
    }
    static std::string text_at(const std::string& bytes, std::size_t at, std::size_t size) {
        return bytes.substr(at, std::min(size, bytes.find('\0', at) - at));
    }
};

}  // namespace porthole::cmd::bundle
