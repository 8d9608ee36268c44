"""ERRANT's types in plain words: a name and a short explanation for each."""

from btr.metrics.errant import OPERATIONS

NAMES = {  # by ERRANT's type without its operation: a name, and what it means
    "ADJ": ("adjective", "Another adjective fits better here."),
    "ADJ:FORM": ("form of the adjective", "Adjectives are compared with -er and -est, or with more and most."),
    "ADV": ("adverb", "Another adverb fits better here."),
    "CONJ": ("conjunction", "A conjunction joins words and clauses; another one says how these are related."),
    "CONTR": ("contraction", "This contraction is written in another way, or is not usual here."),
    "DET": ("article or determiner", "Nouns take a, an, the or another determiner depending on what is meant."),
    "MORPH": ("form of the word", "The stem is right, but another form of the word is needed, e.g. noun for verb."),
    "NOUN": ("noun", "Another noun fits better here."),
    "NOUN:INFL": ("plural form", "The plural of this noun is formed in another way."),
    "NOUN:NUM": ("singular or plural", "The number of the noun must agree with what is meant and with words near it."),
    "NOUN:POSS": ("possessive", "The apostrophe shows to whom something belongs."),
    "ORTH": ("capital letters or spaces", "The word is right, but capital letters or spaces are not."),
    "OTHER": ("wording", "This is put in another way in English."),
    "PART": ("particle", "The verb needs another particle, or to before an infinitive."),
    "PREP": ("preposition", "Which preposition is right depends on the words beside it."),
    "PRON": ("pronoun", "The pronoun must agree with what it stands for, and with its role in the sentence."),
    "PUNCT": ("punctuation", "Punctuation shows how the parts of the sentence belong together."),
    "SPELL": ("spelling", "The word is spelt in another way."),
    "VERB": ("verb", "Another verb fits better here."),
    "VERB:FORM": ("form of the verb", "Here an infinitive, a participle or an -ing form is needed."),
    "VERB:INFL": ("inflection of the verb", "This form of the verb is built in another way."),
    "VERB:SVA": ("subject–verb agreement", "The verb must agree with its subject: she has, they have."),
    "VERB:TENSE": ("tense of the verb", "The tense must fit the time that is meant and the verbs near it."),
    "WO": ("word order", "These words stand in another order."),
}
UNKNOWN = NAMES["OTHER"]
# Where a word is missing or unnecessary, its tense or form is not what is wrong: "am" in "I am agree".
PART_OF_VERB = "part of the verb"
VERB_KINDS = "VERB:FORM", "VERB:TENSE", "VERB:SVA"


def name_of(types: str) -> str:
    """Return the name of an edit's type, e.g. subject–verb agreement; types that are joined by + are listed."""
    names = []
    for each in types.split("+"):
        operation, _, kind = each.partition(":")
        name = NAMES.get(kind, UNKNOWN)[0]
        if operation in OPERATIONS and operation != "R":
            name = f"{OPERATIONS[operation].lower()} {PART_OF_VERB if kind in VERB_KINDS else name}"
        names.append(name)
    return " and ".join(dict.fromkeys(names))


def explanation_of(types: str) -> str:
    """Return the explanations of an edit's types, which are joined by +."""
    kinds = [each.partition(":")[2] for each in types.split("+")]
    return " ".join(dict.fromkeys(NAMES.get(kind, UNKNOWN)[1] for kind in kinds))
