// Strings as Python counts and changes them: by code point, in UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace affine::jinja {

/// Number of code points. `text` is valid UTF-8, here and below.
int64_t CodePoints(std::string_view text);
/// Where code point `index` begins, in bytes; the end if there are fewer.
size_t ByteOffset(std::string_view text, int64_t index);
/// Each code point as a piece of `text`.
std::vector<std::string_view> Characters(std::string_view text);

/// What str.isspace() accepts.
bool IsSpace(char32_t c);
/// Without the characters of `set` at its ends; an empty `set` stands for white space.
std::string_view StripLeft(std::string_view text, std::string_view set = {});
std::string_view StripRight(std::string_view text, std::string_view set = {});
std::string_view Strip(std::string_view text, std::string_view set = {});

std::string Upper(std::string_view text);
std::string Lower(std::string_view text);
/// The first character in upper case and the rest in lower case.
std::string Capitalized(std::string_view text);
/// str.title(): each run of letters capitalized.
std::string Titled(std::string_view text);

/// str.isupper() and str.islower(): some letter has case, and all that have it have this one.
bool IsUpper(std::string_view text);
bool IsLower(std::string_view text);
/// All characters, of which there is one at least, are of the kind.
bool AllSpace(std::string_view text);
bool AllDigits(std::string_view text);
bool AllLetters(std::string_view text);
bool AllLettersOrDigits(std::string_view text);

/// True if repr() shows `c` as it is.
bool IsPrintable(char32_t c);
/// The code point that `text` begins with, and its length in bytes. `text` is not empty.
std::pair<char32_t, size_t> FirstCodePoint(std::string_view text);
/// Appends `c` in UTF-8.
void AppendCodePoint(char32_t c, std::string& text);

/// Like text.find(needle, from), in linear time whatever the strings.
size_t FindText(std::string_view text, std::string_view needle, size_t from = 0);

/// str.splitlines(), without the line breaks.
std::vector<std::string_view> Lines(std::string_view text);

}  // namespace affine::jinja
