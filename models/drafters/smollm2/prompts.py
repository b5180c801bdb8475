"""Prompts: which of ../shared/data/prompts are measured, which are trained on, and prompts of our
own, composed of lists.

Held out whole: MT-bench's eight categories, translation and rag. Of qa, summarization and
math_reasoning the last 20 prompts are held out, and of HumanEval the last 20."""

import gzip
import json
import os
import random

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
CHAT = ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities")
HELD_OUT = CHAT + ("translation", "rag")
PARTLY = ("qa", "summarization", "math_reasoning")
LAST = 20  # prompts of a partly held-out category, at its end

TOPICS = """photosynthesis|volcanoes|the water cycle|black holes|gravity|electric cars|solar panels|
vaccines|the human heart|sleep|vitamin D|yoga|meditation|running a marathon|bread baking|coffee|
green tea|chocolate|Italian food|sushi|vegetarian cooking|gardening|houseplants|composting|bees|
whales|wolves|penguins|dogs|cats|horses|dinosaurs|rainforests|deserts|coral reefs|glaciers|
climate change|recycling|ocean plastic|wind power|nuclear energy|the Roman Empire|ancient Egypt|
the French Revolution|the Silk Road|the Renaissance|the Industrial Revolution|the Cold War|
the moon landing|Shakespeare|jazz|classical music|the guitar|the piano|painting|photography|
film making|theatre|poetry|novels|comic books|chess|football|tennis|basketball|swimming|cycling|
hiking|camping|travel in Japan|a weekend in Paris|a road trip in Canada|learning Spanish|
learning to code|Python|JavaScript|databases|web design|machine learning|neural networks|robots|
cybersecurity|cloud computing|smartphones|video games|social media|online privacy|e-mail|
remote work|time management|public speaking|job interviews|writing a resume|leadership|teamwork|
negotiation|starting a business|marketing|saving money|investing|inflation|taxes|insurance|
buying a house|renting a flat|parenting|schools|university|homework|exams|friendship|marriage|
stress|anxiety|habits|motivation|creativity|happiness|ethics|democracy|human rights|trade|
cities|trains|aeroplanes|bridges|architecture|furniture|fashion|recipes for one|healthy snacks|
headaches|back pain|first aid|the immune system|DNA|evolution|atoms|magnets|light|sound|
prime numbers|fractions|probability|statistics|geometry|algebra|calculus|logic|maps|time zones|
the calendar|astronomy|Mars|comets|satellites|weather forecasts|earthquakes|rivers|mountains|
islands|farming|rice|cheese|honey|salt|gold|glass|paper|ink|clocks|bicycles|elevators|museums|
libraries|festivals|wedding speeches|birthday parties|board games|knitting|woodworking|pottery"""

ASKS = """Explain {t} in simple terms.|What is the history of {t}?|Give me five facts about {t}.|
Write a short essay about {t}.|Write a poem about {t}.|Write a short story that involves {t}.|
How does one get started with {t}?|What are common mistakes with {t}?|List ten words about {t}.|
What are the advantages and disadvantages of {t}?|Compare {t} with {u}.|
Write an email to a colleague about {t}.|Write a product description that mentions {t}.|
Make a plan for a week that is about {t}.|Explain {t} to a child of {n} years.|
Why is {t} important?|Summarize what you know about {t} in {n} sentences.|
Write a dialogue between two friends about {t}.|What questions should I ask about {t}?|
Write a quiz of {n} questions about {t}, with answers.|
Suggest {n} titles for an article on {t}.|
Pretend that you are an expert on {t} and answer a beginner's questions.|
What is the relation between {t} and {u}?|Write a blog post about {t}.|
Give me {n} tips about {t}.|Describe {t} in one paragraph.|What would the world be without {t}?|
Write a speech about {t} for a school.|Tell me a joke about {t}.|
Is it true that {t} is difficult?|Create an outline for a talk on {t}.|
What books are there about {t}?|Define {t}.|Write a letter to the editor about {t}.|
What are the latest trends in {t}?|How do {t} and {u} affect our lives?|
Write a tweet about {t}.|Translate a sentence about {t} into French.|
Make a table with facts about {t}.|Write a conclusion for an essay about {t} and {u}."""

CODE = """Write a Python function that {c}.|Write a JavaScript function that {c}.|
Write a function in C that {c}.|How do I write a program that {c}?|
Write a Python class with a method that {c}.|Explain how code works that {c}.|
Write tests for a function that {c}."""

TASKS = """reverses a string|sorts a list of numbers|finds the largest number in a list|
counts the words of a text|checks whether a number is prime|computes the factorial of a number|
merges two sorted lists|removes duplicates from a list|reads a file line by line|
prints the Fibonacci numbers|checks whether a word is a palindrome|
converts Celsius to Fahrenheit|finds the most common element|computes the mean of a list|
flattens a nested list|parses a date|counts vowels|draws a triangle of stars|
computes the greatest common divisor|searches a sorted list|groups words by their length|
computes the sum of the digits of a number|replaces spaces by underscores|
sends a request to a server|stores a dictionary as JSON|implements a stack|implements a queue|
implements a linked list|traverses a binary tree|validates an email address|
generates a random password|computes the area of a circle|transposes a matrix|
finds the missing number in a sequence|rotates a list by k places"""

SUMS = """{a} has {x} {o} and buys {y} more. How many {o} does {a} have?|
A box holds {x} {o}. How many {o} are in {y} boxes?|
{a} shares {z} {o} with {y} friends equally. How many does each get?|
A shop sells {o} for ${y} each. How much do {x} cost?|
{a} reads {y} pages a day. How long does a book of {z} pages take?|
A train drives {z} km in {y} hours. What is its speed?|What is {x} plus {y} times {k}?|
{a} earns ${x} per hour and works {y} hours a day for {k} days. How much does {a} earn?|
{a} had {z} {o}, lost {x} and found {y}. How many {o} are left?|What is {y}% of {z}?|
Solve for x: {k}x + {y} = {z}.|
The sides of a rectangle are {x} and {y}. What are its area and perimeter?"""

OPENERS = """What|What is the|How|How can I|How do|Why|Why do|Can you|Could you please|I need|
I want to|I am|My|Write|Write a short|Write a Python|Write a program that|Write a story about|
Write an|Create|Compose|Design|Draft|Develop|Describe|Describe a|Explain|Explain the|Discuss|
Compare|Summarize the following|Rewrite the following|Edit the following|Given the following|
Given|Imagine|Imagine you are|Pretend to be|Act as|You are a|Suppose|If|A|The|In|Is it|Are there|
Solve|Calculate|Find|Determine|Prove|Evaluate|Analyze|Identify|Extract|Classify|List|Name|Give me|
Suggest|Provide|Implement|Fix|Debug|Here is|Read the following|Tell me|Let|Which|When|Who|Where|
Do you|Does|Should|Help me"""

NAMES = "Anna|Ben|Carla|David|Emma|Farid|Grace|Hugo|Ines|Jonas|Kim|Lena|Maria|Noah|Olga|Paul|Sara"
THINGS = "apples|books|pencils|marbles|cookies|tickets|stamps|oranges|eggs|balloons|chairs|cups"


def listed(text):
    """Returns the entries of a list that | separates."""
    return [x.strip() for x in text.replace("\n", "").split("|")]


def composed(rng):
    """Returns a prompt of the lists."""
    pick = lambda text: rng.choice(listed(text))
    kind = rng.random()
    if kind < 0.7:
        return pick(ASKS).format(t=pick(TOPICS), u=pick(TOPICS), n=rng.randrange(3, 9))
    if kind < 0.85:
        return pick(CODE).format(c=pick(TASKS))
    x, y, k = rng.randrange(12, 90), rng.randrange(2, 12), rng.randrange(2, 9)
    z = y * rng.randrange(9, 60)
    return pick(SUMS).format(a=pick(NAMES), o=pick(THINGS), x=x, y=y, k=k, z=z)


def published(folder):
    """Returns (training prompts, held-out prompts) as lists of (category, text)."""
    train, held, of = [], [], {}
    with open(os.path.join(folder, "spec_bench.question.jsonl"), encoding="utf-8") as f:
        for d in map(json.loads, f):
            of.setdefault(d["category"], []).append(d["turns"][0])
    with gzip.open(os.path.join(folder, "HumanEval.jsonl.gz"), "rt", encoding="utf-8") as f:
        ask = "Complete this function:\n```python\n{}```"
        of["humaneval"] = [ask.format(json.loads(x)["prompt"]) for x in f]
    for category, texts in of.items():
        cut = 0 if category in HELD_OUT else len(texts) - LAST
        train += [(category, t) for t in texts[:cut]]
        held += [(category, t) for t in texts[cut:]]
    return train, held


def chat(text):
    """Returns the chat template with one question, up to the answer."""
    return f"{start()}{text}<|im_end|>\n<|im_start|>assistant\n"


def start():
    """Returns the chat template up to the user's text."""
    return f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n"


def shuffled(prompts, seed):
    out = list(prompts)
    random.Random(seed).shuffle(out)
    return out
