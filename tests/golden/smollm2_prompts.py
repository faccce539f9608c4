"""Twenty prompts of many kinds for the default model, written for this test."""

_SHIP_LOG = "\n".join(
    f"Day {day}. Wind from the {wind}, {speed} knots; {event}. The cook served {meal}, and we "
    f"made {20 + 7 * day % 31} miles by noon."
    for day, (wind, speed, event, meal) in enumerate(
        [
            ("north", 12, "a torn sail was mended before breakfast", "barley soup"),
            ("north-east", 15, "two dolphins kept us company", "salted cod with onions"),
            ("east", 4, "the sea lay flat as a table and nobody spoke much", "dry bread"),
            ("south-east", 9, "the carpenter finished the new rudder", "beans and bacon"),
            ("south", 22, "we took in the topsail during the night", "nothing at all"),
            ("south", 31, "waves broke over the bow until evening", "cold potatoes"),
            ("south-west", 18, "the youngest sailor saw land that was only cloud", "rice pudding"),
            ("west", 11, "we passed a whaler bound for home and traded letters", "fresh fish"),
            ("west", 8, "the captain read aloud from a book about comets", "onion pie"),
            ("north-west", 13, "fog hid the masthead for six hours", "pea soup"),
            ("north", 10, "a gull stole the mate's hat and flew off with it", "apple dumplings"),
            ("north", 16, "green hills rose out of the water to port", "the last of the cheese"),
            ("none", 0, "we drifted and painted the boats", "crab, caught from the rail"),
            ("east", 14, "the harbour pilot came aboard singing", "a feast of roast lamb"),
        ],
        start=1,
    )
)


def _chat(*turns):
    said = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns)
    return said + "<|im_start|>assistant\n"


_SYSTEM = ("system", "You are a patient teacher who answers in short sentences.")

PROMPTS = (
    ("one token", "The"),
    ("a line break", "\n"),
    ("spaces only", "        "),
    ("prose", "The lighthouse keeper climbed the stairs every evening, and one evening"),
    ("a fact", "Water boils at a lower temperature on a high mountain because"),
    ("a chat question", _chat(_SYSTEM, ("user", "Why is the sky blue?"))),
    (
        "a chat of three turns",
        _chat(
            ("user", "I have four apples and eat one. How many are left?"),
            ("assistant", "Three apples are left."),
            ("user", "And if I then buy two more?"),
        ),
    ),
    ("a chat that asks for a list", _chat(_SYSTEM, ("user", "Name five things to pack for rain."))),
    (
        "Python",
        'def is_palindrome(text):\n    """True if `text` reads the same backwards."""\n',
    ),
    ("C++", "#include <vector>\n\n// Sum of the squares of all elements.\nint SumOfSquares("),
    ("SQL", "SELECT city, COUNT(*) AS visits\nFROM trips\nWHERE year >= 2010\n"),
    ("JSON", '{"name": "kettle", "colour": "red", "price": 24.5, "tags": ["kitchen", '),
    ("a numbered list", "How to plant a tree:\n1. Dig a hole twice as wide as the roots.\n2."),
    ("counting", "1, 2, 3, 5, 8, 13, 21,"),
    ("sums", "12 + 30 = 42\n17 + 25 = 42\n40 + 2 ="),
    ("French", "Le marché du samedi commence tôt le matin, et les marchands"),
    ("German", "Am Rand des Waldes stand ein altes Haus, in dem"),
    ("Chinese and Japanese", "春天来了，花园里的花都开了。東京の朝は"),
    ("emoji and odd signs", "Weather today: ☀️ 21°C → tomorrow: 🌧️ 14°C → Sunday:"),
    ("a long log", _SHIP_LOG + "\nDay 15."),
)
