#include "server/grammar/xgrammar/ebnf_text.h"

#include <cstdio>

namespace affine {
namespace {

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted.append(1, '\\').append(1, c);
    } else if (byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);  // four digits, whatever follows
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace

std::string EbnfOfChoices(const std::vector<std::string>& choices) {
  std::string ebnf = "root ::= ";
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) ebnf += " | ";
    ebnf += Quoted(choices[i]);
  }
  return ebnf;
}

std::string WithPlainDots(const std::string& regex) {
  std::string plain;
  bool in_class = false;
  for (size_t i = 0; i < regex.size(); ++i) {
    const char c = regex[i];
    if (c == '\\' && i + 1 < regex.size()) {
      plain.append(regex, i++, 2);
      continue;
    }
    if (in_class ? c == ']' : c == '[') in_class = !in_class;
    if (c == '.' && !in_class) {
      plain += "[^\\n]";
    } else {
      plain += c;
    }
  }
  return plain;
}

std::string EbnfOfRegex(const std::string& regex) {
  return "root ::= Regex(" + Quoted(regex) + ")";
}

}  // namespace affine
